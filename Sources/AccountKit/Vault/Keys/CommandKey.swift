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

    /// The maximum duration of the program, including questions to the user.
    private let timeout: Duration

    /// Environment variables that AccountKit does not pass to the program, in addition to ``SecretVariables``.
    private let hiddenVariables: [String]

    /// Creates a source for a program that prints only a key: 32 random bytes as Base64 or in hexadecimal.
    ///
    /// The program does not get the variables of AccountKit that contain tokens, keys, client secrets and the credentials
    /// of a store. It gets `CREDENTIALS_DIRECTORY` and `<PREFIX>_PASSPHRASE`, because it may read the key there.
    ///
    /// - Parameters:
    ///   - command: The program and its arguments. A name without a path is looked up in `$PATH`.
    ///   - timeout: The maximum duration of the program.
    ///   - hiddenVariables: More environment variables that AccountKit does not pass to the program.
    /// - Throws: ``AccountError/Code-swift.struct/invalidArgument`` for an empty command.
    public init(
        _ command: [String], timeout: Duration = .seconds(60), hiding hiddenVariables: [String] = []
    ) throws(AccountError) {
        guard let program = command.first, !program.isEmpty, !command.contains(where: { $0.contains("\0") }) else {
            throw AccountError(.invalidArgument, "no program that prints the key is set", hint: "specify the program")
        }
        self.command = command
        self.timeout = timeout
        self.hiddenVariables = hiddenVariables
    }

    /// The kind `command`.
    public var kind: KeyKind { .command }

    /// Runs the program.
    ///
    /// - Throws: ``AccountError/Code-swift.struct/noKey`` if the program fails, takes too long, or does not print a
    ///   key.
    public func key() async throws -> ArchiveKey? {
        let output: Secret
        do throws(ChildProcess.Failure) {
            output = try await ChildProcess.output(
                of: command, for: .key, hiding: hiddenVariables, limit: 1024, timeout: timeout)
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
