import AccountKit

/// The settings of a sign-in: the service of the session, and rules for other programs.
extension LoginCommand {
    /// Stores the service and the client of a session, and creates rules for its hosts and for APIs. A failure does not undo the
    /// sign-in.
    func saveSettings(
        of service: AccountService, _ resources: [String], for account: Account, in session: SessionName,
        _ context: CommandContext<App>
    ) async {
        do {
            if App.acceptsIssuer { try await context.preferences.setService(service, of: session) }
            if App.acceptsIssuer, let machine = account.credentials.machine {
                try await context.preferences.setClient(ClientSettings(machine), of: session)
            }
            try await makeRules(for: service, and: resources, in: session, context)
        } catch {
            Terminal.say("note: you are signed in, but the settings were not saved (\(error))")
        }
    }

    /// Creates rules for the hosts of a service and for APIs, except for hosts that already have a rule for another
    /// session.
    private func makeRules(
        for service: AccountService, and resources: [String], in session: SessionName, _ context: CommandContext<App>
    ) async throws {
        var urls: [RuleURL] = []
        for text in App.tokenURLs(of: service) + resources {
            do {
                urls.append(try RuleURL(text))
            } catch {
                // Don't show a URL with a password.
                let shown = error == .credentials ? "its URL" : text
                Terminal.say(
                    "note: no rule was created, so other programs get no token there: \(shown) \(error.text)."
                )
            }
        }
        guard !urls.isEmpty else { return }
        let others = try await context.preferences.changeRules { rules in
            urls.compactMap { rules.add(unlessRuled: Rule(url: $0, session: session)) }
        }
        guard let other = others.first else { return }
        Terminal.say(
            "note: git and other programs still use session \(other.session) at \(other.url.host). To change this, "
                + "run `\(context.tool) rule add \(other.url.origin) --session \(session)`. Add --directory for only one directory."
        )
    }
}
