import AccountKit
import AccountSupport

/// The settings of a sign-in: the service of the session, and rules for other programs.
extension LoginCommand {
    /// Stores the service and the client of a session, and creates rules for its hosts and for APIs. A failure does not undo the
    /// sign-in.
    ///
    /// - Parameter earlier: The account of the session before the sign-in; `nil` if there was none.
    func saveSettings(
        of service: AccountService, _ resources: [String], for account: Account, replacing earlier: Account?,
        in session: SessionName, _ context: CommandContext<App>
    ) async {
        let remembered = context.readableService(of: session)
        do {
            if App.acceptsIssuer { try await context.preferences.setService(service, of: session) }
            if App.acceptsIssuer, let machine = account.credentials.machine {
                try await context.preferences.setClient(ClientSettings(machine), of: session)
            }
            let binding = SignInBinding(account: account, earlier: earlier, service: service, remembered: remembered)
            try await makeRules(for: service, and: resources, binding, in: session, context)
        } catch {
            Terminal.say("note: you are signed in, but the settings were not saved (\(error.userText))")
        }
    }

    /// Creates rules for the hosts of a service and for APIs, except for hosts that already have a rule for another
    /// session, unless that session now has the token of another sign-in.
    private func makeRules(
        for service: AccountService, and resources: [String], _ binding: SignInBinding, in session: SessionName,
        _ context: CommandContext<App>
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
        let known = try context.preferences.rules().rules
        guard !urls.isEmpty || known.contains(where: { $0.session == session && $0.signIn == nil }) else { return }
        var stale: [Rule] = []
        for rule in known where urls.contains(rule.url) && rule.session != session && rule.directory == nil {
            // A rule whose session cannot be read stays.
            let account = try? await context.archive(of: rule.session, isInteractive: false).load().account
            if let account, rule.signIn?.allows(account) == false { stale.append(rule) }
        }
        let others = try await context.preferences.changeRules { [urls, stale] rules in
            _ = rules.remove { stale.contains($0) }
            // Rules that the user added before the sign-in.
            rules.bind(session) { binding.signIn(at: $0) }
            return urls.compactMap { url in
                rules.add(
                    unlessRuled: Rule(url: url, session: session, signIn: RuleSignIn(of: binding.account, at: url)))
            }
        }
        guard let other = others.first else { return }
        Terminal.say(
            "note: git and other programs still use session \(other.session) at \(other.url.host). To change this, "
                + "run `\(context.tool) rule add \(other.url.origin) --session \(session)`. Add --directory for only one directory."
        )
    }
}

/// The sign-in of the rules of a session that do not contain their sign-in.
struct SignInBinding: Sendable {
    /// The account of the new sign-in.
    let account: Account

    /// The account before it.
    let earlier: Account?

    /// The service of the new sign-in.
    let service: AccountService

    /// The service of the last sign-in before it.
    let remembered: AccountService?

    /// Returns the sign-in that a rule was made for: that of the earlier account, or else that of the settings, or else the
    /// new one.
    func signIn(at url: RuleURL) -> RuleSignIn? {
        if let earlier { return RuleSignIn(of: earlier, at: url) }
        if let remembered, let issuer = remembered.issuer, issuer != account.issuer || remembered.url != service.url {
            return RuleSignIn(issuer: issuer, resource: remembered.url ?? remembered.resources.first)
        }
        return RuleSignIn(of: account, at: url)
    }
}
