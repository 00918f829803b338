import AccountKit
import ArgumentParser

struct SessionsCommand<App: AccountApplication>: AccountSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: "sessions", abstract: "List the sessions; a star marks the default.")
    }

    @OptionGroup var options: CommonOptions

    func run(in context: CommandContext<App>) async throws {
        let chosen = try context.preferences.defaultSession()
        var documents: [StateDocument] = []
        let sessions = try await context.sessions()
        if sessions.isEmpty, !options.json {
            Terminal.say("There are no sessions yet. Sign in with `\(context.hint.command("login"))`.")
        }
        for session in sessions {
            let state = try await context.archive(of: session, isInteractive: false).load()
            if options.json {
                var document = StateDocument(state, session: session)
                document.isDefault = session == chosen
                documents.append(document)
            } else {
                try Terminal.printLine((session == chosen ? "* " : "  ") + line(session, state))
            }
        }
        if options.json { try JSONDocument.print(["sessions": documents]) }
    }

    private func line(_ session: SessionName, _ state: SessionState) -> String {
        let name = session.rawValue.padding(to: 20) + " "
        return switch state {
        case .verified(let account), .unverified(let account, _):
            name + account.shownName + (account.issuer.map { " at \($0)" } ?? "")
                + (account.move.map { " (moved to \($0.place))" } ?? "")
        case .signedOut: name + "signed out"
        case .unreadable(let error) where error.code == .noKey: name + "unreadable (locked, or its key is missing)"
        case .unreadable(let error): name + "unreadable (\(error.code))"
        }
    }
}

struct SwitchCommand<App: AccountApplication>: AccountSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: "switch", abstract: "Make another session the default.")
    }

    @Argument(help: "Session to make the default.")
    var name: String

    @OptionGroup var options: CommonOptions

    func run(in context: CommandContext<App>) async throws {
        let session = try SessionName(name)
        let known = try await context.sessions()
        guard session == .default || known.contains(session) else {
            let names = known.map(\.rawValue).joined(separator: ", ")
            throw AccountError(
                .invalidArgument,
                "there is no session \(session) yet: sign in with `\(context.hint(for: session).command("login"))`"
                    + (names.isEmpty ? "" : ", or choose one of: \(names)"))
        }
        try await context.preferences.setDefaultSession(session)
        let state = try await context.archive(of: session, isInteractive: false).load()
        if options.json { return try JSONDocument.print(StateDocument(state, session: session)) }
        let user =
            switch state {
            case .verified(let account), .unverified(let account, _): "signed in as \(account.shownName)"
            case .signedOut: "not signed in"
            case .unreadable(let error): "which cannot be read: \(error)"
            }
        Terminal.say("The default session is now \(session), \(user).")
    }
}
