public import AccountKit
public import ArgumentParser

/// Where the keys of a session's archive are. A new archive gets a slot for each of them.
struct KeySettings: Codable, Equatable {
    struct Source: Codable, Equatable {
        var kind: KeyKind

        /// Of a program that prints the key.
        var command: [String]?
    }

    var sources = [Source(kind: .keyFile)]

    func sources<App: AccountApplication>(
        of session: SessionName, _ container: AppContainer, _: App.Type, isInteractive: Bool = true
    ) throws(AccountError) -> [any KeySource] {
        guard !sources.isEmpty else {
            throw AccountError(.misconfigured, "the settings of session \(session) name no key for its archive")
        }
        return try sources.map { source throws(AccountError) in
            try source.keySource(of: session, container, App.self, isInteractive: isInteractive)
        }
    }
}

extension KeySettings.Source {
    func keySource<App: AccountApplication>(
        of session: SessionName, _ container: AppContainer, _: App.Type, isInteractive: Bool = true
    ) throws(AccountError) -> any KeySource {
        switch kind {
        case .keyFile: KeyFile(container: container, session: session)
        case .passphrase:
            PassphraseKey { question in
                let prompt = PassphrasePrompt(session: session)
                guard isInteractive else { throw prompt.isLocked }
                return try prompt.answer(to: question)
            }
        case .command: try CommandKey(command ?? [], hiding: App.secretVariables)
        case .environment:
            EnvironmentKey(
                variable: App.keyVariable, credential: App.environmentPrefix.lowercased() + ".key")
        default: throw AccountError(.misconfigured, "this version has no keys of the kind \(kind): update it")
        }
    }

    var text: String {
        switch kind {
        case .command: "command `\((command ?? []).joined(separator: " "))`"
        default: kind.description
        }
    }
}

extension KeyKind: ExpressibleByArgument {
    /// All names.
    public static var allValueStrings: [String] { allCases.map(\.description) }
}

struct PassphrasePrompt {
    let session: SessionName

    private var unlock: String { CommandHint(session: session).command("unlock") }
    private var place: String { session == .default ? "" : " of session \(session)" }

    var isLocked: AccountError {
        AccountError(
            .noKey,
            "the archive\(place) is locked by a passphrase: `\(unlock)` asks for it")
    }

    func answer(to question: PassphraseKey.Question) throws -> Secret {
        switch question {
        case .existing(let attempt):
            let text =
                attempt == 1 ? "Passphrase\(place): " : "That is not it. Passphrase\(place), attempt \(attempt) of 3: "
            guard let answer = try Terminal.promptForSecretAnywhere(text) else {
                throw AccountError(
                    .noKey,
                    "the archive\(place) is locked by a passphrase, and there is no terminal to ask for it on: run "
                        + "`\(unlock)` on one first")
            }
            return answer
        case .new:
            for _ in 1...3 {
                guard let answer = try Terminal.promptForSecretAnywhere("New passphrase\(place): "),
                    let repeated = try Terminal.promptForSecretAnywhere("The same again: ")
                else {
                    throw AccountError(
                        .invalidArgument,
                        "the archive\(place) is to have a new passphrase, and there is no terminal to ask for it on: do "
                            + "this on one")
                }
                if answer == repeated { return answer }
                Terminal.say("They are not the same.")
            }
            throw AccountError(.invalidArgument, "no passphrase was entered twice the same: nothing was changed")
        }
    }
}
