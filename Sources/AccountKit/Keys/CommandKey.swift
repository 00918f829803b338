import AccountCrypto

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A key that a program prints, such as `secret-tool`, `pass` or a password manager.
///
/// The program runs without a shell, and its output goes directly into guarded memory. The key is only as safe as the
/// place where the program keeps it, for example a keyring that locks with the screen.
public struct CommandKey: KeySource {
    /// The program and its arguments.
    package let command: [String]

    /// How long the program may take, including questions to the user.
    private let timeout: Duration

    /// Environment variables that the program does not get, such as one with a token. It gets all others.
    private let hiddenVariables: [String]

    /// Creates a source for a program that prints a key: 32 random bytes as Base64 or in hexadecimal, and nothing else.
    ///
    /// - Parameters:
    ///   - command: The program and its arguments. A name without a path is looked up in `$PATH`.
    ///   - timeout: How long the program may take.
    ///   - hiddenVariables: Environment variables that the program does not get.
    /// - Throws: ``AccountError/Code-swift.struct/invalidArgument`` for an empty command.
    public init(
        _ command: [String], timeout: Duration = .seconds(60), hiding hiddenVariables: [String] = []
    ) throws(AccountError) {
        guard let program = command.first, !program.isEmpty, !command.contains(where: { $0.contains("\0") }) else {
            throw AccountError(.invalidArgument, "no program that prints the key is set", hint: "name one")
        }
        self.command = command
        self.timeout = timeout
        self.hiddenVariables = hiddenVariables
    }

    /// The kind `command`.
    public var kind: KeyKind { .command }

    /// Runs the program.
    ///
    /// - Throws: ``AccountError/Code-swift.struct/noKey`` if it fails, takes too long, or does not print a key.
    public func key() async throws -> ArchiveKey? {
        let output: Secret
        do throws(ChildProcess.Failure) {
            output = try await ChildProcess.output(
                of: command, hiding: hiddenVariables, limit: 1024, timeout: timeout)
        } catch {
            throw AccountError(
                .noKey, "the program that prints the key failed: `\(command.joined(separator: " "))` \(error.text)")
        }
        do {
            return try ArchiveKey(text: output)
        } catch {
            throw AccountError(
                .noKey, "`\(command.joined(separator: " "))` printed something other than a key: \(error.message)")
        }
    }

    /// Runs the program. The user must first store the key that the program prints.
    public func makeKey() async throws -> ArchiveKey {
        guard let key = try await key() else { preconditionFailure("a program that succeeded has printed a key") }
        return key
    }
}
