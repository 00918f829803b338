import AccountKit
import AccountSupport

/// What follows after a sign-in: the settings of the session, rules for other programs, and the report.
struct SignInCompletion<App: AccountApplication> {
    let command: LoginCommand<App>
    let context: CommandContext<App>

    /// The plan, with the issuer of the account.
    let plan: SignInPlan

    /// The new account.
    let account: Account

    /// The session in which the account is stored, which the user may have chosen during the sign-in.
    let session: SessionName

    /// The account of the session before the sign-in; `nil` if there was none.
    let earlier: Account?

    let question: ReplacementQuestion<App>

    // MARK: Settings

    /// Stores the service and the client of the session, and creates rules for its hosts and for APIs. A failure does not undo
    /// the sign-in.
    func saveSettings() async {
        let (service, remembered) = (plan.service, context.readableService(of: session))
        do {
            if App.acceptsIssuer { try await context.preferences.setService(service, of: session) }
            if App.acceptsIssuer, let machine = account.credentials.machine {
                try await context.preferences.setClient(ClientSettings(machine), of: session)
            }
            try await makeRules(
                SignInBinding(account: account, earlier: earlier, service: service, remembered: remembered))
        } catch {
            Terminal.say("note: you are signed in, but the settings were not saved (\(error.userText))")
        }
    }

    /// Creates rules for the hosts of a service and for APIs, except for hosts that already have a rule for another
    /// session, unless that session now has the token of another sign-in.
    private func makeRules(_ binding: SignInBinding) async throws {
        var urls: [RuleURL] = []
        for text in App.tokenURLs(of: plan.service) + plan.apis(of: account) {
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

    // MARK: The report

    /// Says which archive or account the sign-in replaced.
    ///
    /// - Parameter isOtherAPI: Whether the sign-in replaced that for another API.
    func reportReplacement(ofOtherAPI isOtherAPI: Bool) {
        if let place = context.store.quarantinedArchive {
            Terminal.say("The archive that could not be opened was moved to \(place).")
            if context.store.isShared {
                Terminal.say(
                    "Other machines now need this machine's key. The tokens in the old archive stay valid at the "
                        + "service until they expire.")
            }
        }
        guard !question.isAsked else { return }
        if isOtherAPI, let earlier {
            let api = earlier.credentials.resources.first.map { " for \($0.shown)" } ?? ""
            Terminal.say(
                "note: this sign-in replaces the one\(api) in session \(session), and other programs no longer get a token "
                    + "there. To keep both, sign in with `\(context.tool) login URL --session NAME`.")
        } else if let replaced = question.replaced {
            Terminal.say(
                "note: \(account.shownName) replaces \(replaced.shownNameAndPlace) in session \(session). To keep both, sign in with "
                    + "`\(context.tool) login --session NAME`.")
        }
    }

    func report() async throws {
        if context.options.json {
            var document = StateDocument(.verified(account), session: session)
            document.replaced = question.replaced.map(StateDocument.AccountPart.init)
            return try JSONDocument.print(document)
        }
        let place = account.issuer.map { " at \($0)" } ?? ""
        let name = session == .default ? "" : " (session \(session))"
        let client = account.isClient ? "the client " : ""
        let word = account.isNamedAfterAPI ? "to" : "as"
        Terminal.say(.success, "Signed in \(word) \(client)\(bold: account.shownName)\(place)\(name).")
        let advice = await plan.authority.refreshTokenAdvice(usesBrowser: plan.way == .browser)
        let hint = context.hint(for: session)
        let limit = StateText.limit(of: account, advice: advice, isToken: plan.way == .token, hint)
        if let limit { Terminal.say(.warning, StyledText(limit)) }
        if command.machine.clientSecretStdin, Environment.value(App.clientSecretVariable) == nil {
            let variable = App.clientSecretVariable
            Terminal.say("The client secret is not stored. Set \(variable) for commands that need a new token.")
        }
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
