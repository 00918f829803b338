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
        let text: String
        let exitCode: Int32
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

    /// Replaces this process with a program. Returns only if this fails. Other users can read the arguments, so the
    /// token is not among them.
    func run(_ words: [String], token: Secret, in variables: [String], hiding hidden: [String]) -> Failure {
        // Close files that a library opened in this process, for example for connections.
        for descriptor in Self.passedOn.subtracting(inherited) { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        var names: [UnsafeMutablePointer<CChar>?] = (hidden + variables).map { strdup($0) } + [nil]
        var additions: [UnsafeMutablePointer<CChar>?] = variables.map { Self.assignment(of: token, to: $0) } + [nil]
        let code = accountkit_become(&arguments, &names, &additions)
        for addition in additions { if let addition { memset(addition, 0, strlen(addition)) } }
        let reason = String(cString: strerror(code))
        return Failure(text: "\(words[0].shellWord) cannot be run: \(reason)", exitCode: code == ENOENT ? 127 : 126)
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
