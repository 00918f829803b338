import AccountKit
import ArgumentParser

/// The key sources of a session's archive. A new archive has a key slot for each source.
struct KeySettings: Codable, Equatable {
    struct Source: Codable, Equatable {
        var kind: KeyKind

        var command: [String]?
    }

    var sources = [Source(kind: .keyFile)]

    func sources<App: AccountApplication>(
        of session: SessionName, _: App.Type, isInteractive: Bool = true
    ) throws(AccountError) -> [KeySource] {
        guard !sources.isEmpty else {
            throw AccountError(.misconfigured, "the settings of session \(session) contain no key for its archive")
        }
        return sources.map { $0.keySource(of: session, App.self, isInteractive: isInteractive) }
    }
}

extension KeySettings.Source {
    func keySource<App: AccountApplication>(
        of session: SessionName, _: App.Type, isInteractive: Bool = true
    ) -> KeySource {
        switch kind {
        case .keyFile: .file
        case .passphrase:
            .passphrase { question in
                let prompt = PassphrasePrompt(session: session)
                guard isInteractive else { throw prompt.isLocked }
                return try prompt.answer(to: question)
            }
        case .command: .command(command ?? [])
        case .environment:
            .environment(variable: App.keyVariable, credential: App.environmentPrefix.lowercased() + ".key")
        }
    }

    var text: String {
        switch kind {
        case .command: "command `\((command ?? []).joined(separator: " "))`"
        case .keyFile, .passphrase, .environment: kind.rawValue
        }
    }
}

extension KeyKind: ExpressibleByArgument {}

struct PassphrasePrompt {
    let session: SessionName

    private var unlock: String { CommandHint(session: session).command("key unlock") }
    private var place: String { session == .default ? "" : " of session \(session)" }

    var isLocked: AccountError {
        AccountError(
            .noKey,
            "the archive\(place) is locked by a passphrase", hint: "run `\(unlock)`")
    }

    func answer(to question: PassphraseQuestion) throws -> Secret {
        switch question {
        case .existing(let attempt):
            let text =
                attempt == 1 ? "Passphrase\(place): " : "Wrong passphrase\(place) (attempt \(attempt) of 3): "
            guard let answer = try Terminal.promptForSecretAnywhere(text) else {
                throw AccountError(
                    .noKey,
                    "the archive\(place) is locked by a passphrase, and there is no terminal for a prompt",
                    hint: "run `\(unlock)` in a terminal first")
            }
            return answer
        case .new:
            for _ in 1...3 {
                guard let answer = try Terminal.promptForSecretAnywhere("New passphrase\(place): "),
                    let repeated = try Terminal.promptForSecretAnywhere("Confirm passphrase: ")
                else {
                    throw AccountError(
                        .invalidArgument,
                        "the archive\(place) needs a new passphrase, and there is no terminal for a prompt",
                        hint: "run this command in a terminal")
                }
                if answer == repeated { return answer }
                Terminal.say("The passphrases don't match.")
            }
            throw AccountError(.invalidArgument, "the passphrases don't match: nothing was changed")
        }
    }
}
