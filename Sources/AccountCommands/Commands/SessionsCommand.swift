import AccountKit
import AccountSupport
import ArgumentParser

struct SessionsCommand<App: AccountApplication>: AccountSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "sessions", abstract: "List the sessions.",
            discussion: """
                A star marks the session that commands use by default.

                  \(CommandLine.toolName) sessions
                  \(CommandLine.toolName) sessions --json
                """)
    }

    @OptionGroup(title: "Common options") var options: CommonOptions

    func run(in context: CommandContext<App>) async throws {
        let chosen = try context.preferences.defaultSession()
        let sessions = try await context.sessions()
        var states: [(session: SessionName, state: SessionState)] = []
        for session in sessions {
            let store = try context.archive(of: session, isInteractive: false)
            var state = await store.load()
            // The record of a refusal to renew the session is on this machine.
            if let account = state.account, let reason = await store.renewalRefusal(of: account) {
                state = .unverified(account, reason)
            }
            states.append((session, state))
        }
        if options.json {
            let documents = states.map { session, state in
                var document = StateDocument(state, session: session)
                document.isDefault = session == chosen
                return document
            }
            return try JSONDocument.print(["sessions": documents])
        }
        guard !sessions.isEmpty else {
            return Terminal.say("No user is signed in to any session. Sign in with `\(context.hint.command("login"))`.")
        }
        try Terminal.printTable(
            ["  SESSION", "USER", "SERVICE", "STATE"],
            states.map { session, state in
                [(session == chosen ? "* " : "  ") + session.rawValue] + cells(of: state)
            })
    }

    private func cells(of state: SessionState) -> [String] {
        switch state {
        case .verified(let account), .unverified(let account, _):
            let text =
                if account.isOver(at: Date()) {
                    "expired"
                } else if case .unverified(_, let reason) = state, reason.code == .renewalRefused {
                    "no longer renewed"
                } else {
                    "signed in"
                }
            let api = account.credentials.resources.first.map { " for \($0.shown)" } ?? ""
            return [account.shownName, (account.issuer ?? "-") + api, text]
        case .signedOut: return ["-", "-", "signed out"]
        case .unreadable(let error) where error.code == .noKey:
            return ["-", "-", "unreadable (locked, or its key is missing)"]
        case .unreadable(let error): return ["-", "-", "unreadable (\(error.code))"]
        }
    }
}

struct SwitchCommand<App: AccountApplication>: AccountSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "switch", abstract: "Make another session the default.",
            discussion: "  \(CommandLine.toolName) switch work")
    }

    @Argument(help: "Session to make the default.")
    var name: String

    @OptionGroup(title: "Common options") var options: CommonOptions

    func run(in context: CommandContext<App>) async throws {
        let session = try SessionName(name)
        let known = try await context.sessions()
        guard session == .default || known.contains(session) else {
            let names = known.map(\.rawValue).joined(separator: ", ")
            throw AccountError(
                .invalidArgument,
                "there is no session \(session) yet",
                hint: "sign in with `\(context.hint(for: session).command("login"))`"
                    + (names.isEmpty ? "" : ", or choose one of: \(names)"))
        }
        try await context.preferences.setDefaultSession(session)
        let state = try await context.archive(of: session, isInteractive: false).load()
        if options.json { return try JSONDocument.print(StateDocument(state, session: session)) }
        let user =
            switch state {
            case .verified(let account), .unverified(let account, _): "signed in \(account.signedInText)"
            case .signedOut: "not signed in"
            case .unreadable(let error): "which cannot be read: \(error.userText)"
            }
        Terminal.say(.success, "The default session is now \(bold: session), \(user).")
    }
}
