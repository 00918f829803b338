import Foundation

/// What a command asked of the operating system, as `strace` saw it.
struct SystemCalls {
    /// One line a call.
    let lines: [Substring]

    /// Runs a command and notes every call of it and of its threads.
    static func during(
        _ command: Command, in container: Container, input: String = ""
    ) async throws -> (SystemCalls, Outcome) {
        let file = container.path("calls")
        let outcome = try await command.run(by: "strace", "-f", "-qq", "-s", "256", "-o", file).run(input: input)
        let text = try String(contentsOfFile: file, encoding: .utf8)
        // A line begins with the number of the thread.
        let lines = text.split(separator: "\n").map { line in line.drop { $0.isNumber || $0 == " " } }
        guard lines.contains(where: { $0.hasPrefix("execve(") }) else { throw Unexpected("no calls: \(outcome)") }
        return (SystemCalls(lines: lines), outcome)
    }

    /// The calls that have to do with a network.
    var onSockets: [Substring] {
        let names: Set = [
            "socket", "connect", "sendto", "sendmsg", "sendmmsg", "recvfrom", "recvmsg", "bind", "listen",
        ]
        return lines.filter { names.contains(Self.name($0)) }
    }

    /// The calls that change files or folders, or are made in order to, whether they succeed or not.
    var changingFiles: [Substring] {
        let names: Set = [
            "creat", "rename", "renameat", "renameat2", "unlink", "unlinkat", "mkdir", "mkdirat", "rmdir", "link",
            "linkat",
            "symlink", "symlinkat", "mknod", "mknodat", "truncate", "ftruncate", "fallocate", "chmod", "fchmod",
            "fchmodat",
            "fchmodat2", "chown", "fchown", "lchown", "fchownat", "utimensat", "setxattr", "fsetxattr", "lsetxattr",
            "mount",
        ]
        let flags = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND"]
        return lines.filter { line in
            names.contains(Self.name(line))
                || (Self.name(line).hasPrefix("open") && flags.contains { line.contains($0) }
                    // What goes there changes nothing, and programs that the command asks get it for their output.
                    && !line.contains("\"/dev/null\""))
        }
    }

    private static func name(_ line: Substring) -> String { String(line.prefix { $0 != "(" }) }
}
