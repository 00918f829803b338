import Foundation

/// The system calls of a command, recorded by `strace`.
struct SystemCalls {
    /// One line for each call.
    let lines: [Substring]

    /// Runs a command, and records every call of all its threads.
    static func during(_ command: Command, in container: Container) async throws -> (SystemCalls, Outcome) {
        let file = container.path("calls")
        let outcome = try await command.run(by: "strace", "-f", "-qq", "-s", "256", "-o", file).run()
        let text = try String(contentsOfFile: file, encoding: .utf8)
        // A line starts with the number of the thread.
        let lines = text.split(separator: "\n").map { line in line.drop { $0.isNumber || $0 == " " } }
        guard lines.contains(where: { $0.hasPrefix("execve(") }) else { throw Unexpected("no calls: \(outcome)") }
        return (SystemCalls(lines: lines), outcome)
    }

    /// The calls for sockets.
    var onSockets: [Substring] {
        let names: Set = [
            "socket", "connect", "sendto", "sendmsg", "sendmmsg", "recvfrom", "recvmsg", "bind", "listen",
        ]
        return lines.filter { names.contains(Self.name($0)) }
    }

    /// The calls that change files or folders, or that open them for writing, whether they succeed or not.
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
                    // Writing to `/dev/null` changes nothing, and the command uses it as the output of other programs.
                    && !line.contains("\"/dev/null\""))
        }
    }

    private static func name(_ line: Substring) -> String { String(line.prefix { $0 != "(" }) }
}
