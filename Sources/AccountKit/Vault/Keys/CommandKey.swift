import AccountCrypto
import AccountSupport

/// A key that a program prints.
struct CommandKey: KeyProvider {
    /// The program and its arguments.
    private let command: [String]

    /// The maximum duration of the program, including questions to the user.
    private let timeout: Duration

    /// Environment variables that AccountKit does not pass to the program, in addition to ``SecretVariables``.
    private let hiddenVariables: [String]

    init(_ command: [String], timeout: Duration = .seconds(60), hiding hiddenVariables: [String] = []) {
        self.command = command
        self.timeout = timeout
        self.hiddenVariables = hiddenVariables
    }

    var kind: KeyKind { .command }

    /// Runs the program.
    ///
    /// - Throws: ``AccountError/Code-swift.struct/noKey`` if the program fails, takes too long, or does not print a
    ///   key; ``AccountError/Code-swift.struct/invalidArgument`` for an empty command.
    func key() async throws -> ArchiveKey? { try await printedKey() }

    /// Runs the program. The user must first store the key that the program prints.
    func makeKey() async throws -> ArchiveKey { try await printedKey() }

    private func printedKey() async throws(AccountError) -> ArchiveKey {
        guard let program = command.first, !program.isEmpty, !command.contains(where: { $0.contains("\0") }) else {
            throw AccountError(.invalidArgument, "no program that prints the key is set", hint: "specify the program")
        }
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
}
