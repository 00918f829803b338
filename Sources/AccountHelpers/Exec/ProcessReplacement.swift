import AccountCommands
import AccountKit
import CAccountKitShims
import AccountSupport

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

struct ProcessReplacement {
    /// A program that could not be run, with the exit code that shells use for it.
    struct Failure: Error {
        let error: AccountError
        let exitCode: Int32

        /// - Parameter code: The `errno` of `execvp`.
        init(running program: String, errno code: Int32) {
            exitCode = code == ENOENT ? 127 : 126
            let name = program.shellWord
            let isPath = program.contains("/")
            // If the status cannot be read, the program counts as missing.
            let status = if isPath { try? SystemCall.targetStatus(program) } else { nil as FileStatus? }
            let (problem, hint): (String, String?) =
                switch code {
                case ENOENT where !isPath: ("\(name): command not found", "check the name, and the folders in PATH")
                case ENOENT where status != nil:
                    (
                        "\(name) needs an interpreter or a dynamic loader that does not exist",
                        "check the first line of a script"
                    )
                case ENOENT, ENOTDIR: ("\(name): no such file", "check the path")
                case EACCES where status?.kind == .directory:
                    ("\(name) is a folder", "specify a program in the folder")
                case EACCES where status.map { $0.permissions & 0o111 == 0 } == true:
                    ("\(name): permission denied", "if it is a program, run `chmod u+x \(name)`")
                case EACCES where isPath:
                    ("\(name): permission denied", "check the permissions of the file, its folders and its disk")
                case EACCES:
                    ("\(name): permission denied", "check the permissions of its file, and the folders in PATH")
                case ENOEXEC: ("\(name) is not a program for this machine", nil)
                case E2BIG: ("\(name) cannot be run: its arguments and environment are too long", nil)
                default: ("\(name) cannot be run (\(SystemCallError.text(code)))", nil)
                }
            error = AccountError(.invalidArgument, problem, hint: hint)
        }
    }

    /// Files that the parent process opened for the program, such as a pipe or a build's job server.
    private let inherited: Set<Int32>

    /// Records the open files. Call this before the process opens any other file.
    init() { inherited = Self.passedOn }

    private static var passedOn: Set<Int32> {
        // Without /proc, the descriptors are unknown. The archive and its locks are O_CLOEXEC anyway.
        let names = (try? SystemCall.names(in: "/dev/fd")) ?? []
        return Set(names.compactMap { Int32($0) }.filter { $0 > 2 && fcntl($0, F_GETFD) & FD_CLOEXEC == 0 })
    }

    /// Replaces this process with a program, which gets the token in the variables, and no other secret of this process.
    /// Returns only if this fails. Other users can read the arguments, so the token is not among them.
    func run(_ words: [String], token: Secret, in variables: [String]) -> Failure {
        // Close files that a library opened in this process, for example for connections.
        for descriptor in Self.passedOn.subtracting(inherited) { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        var arguments: [UnsafeMutablePointer<CChar>?] = CommandLine.unchanged(words) + [nil]
        var names: [UnsafeMutablePointer<CChar>?] =
            (SecretVariables.names(hiddenFrom: .other) + variables).map { strdup($0) } + [nil]
        var additions: [UnsafeMutablePointer<CChar>?] = variables.map { Self.assignment(of: token, to: $0) } + [nil]
        let code = accountkit_become(&arguments, &names, &additions)
        for addition in additions { if let addition { memset(addition, 0, strlen(addition)) } }
        return Failure(running: words[0], errno: code)
    }

    /// Returns `name=token` in a separate allocation, without leaving other copies in memory.
    private static func assignment(of token: Secret, to variable: String) -> UnsafeMutablePointer<CChar>? {
        let name = Array(variable.utf8) + [UInt8(ascii: "=")]
        return token.withBytes { span in
            guard let memory = calloc(name.count + span.byteCount + 1, 1) else { return nil }
            let bytes = memory.assumingMemoryBound(to: UInt8.self)
            for (index, byte) in name.enumerated() { bytes[index] = byte }
            for index in span.byteOffsets {
                bytes[name.count + index] = span.unsafeLoad(fromByteOffset: index, as: UInt8.self)
            }
            return memory.assumingMemoryBound(to: CChar.self)
        }
    }
}
