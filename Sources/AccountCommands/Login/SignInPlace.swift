import AccountKit
import AccountSupport

/// Where a sign-in is stored. Programs send the token of a session to the URLs of its rules, so each API gets its own session,
/// unless the user decides otherwise.
enum SignInPlace: Equatable {
    case here

    /// In the session of the command, whose sign-in for another API the user agreed to replace.
    case replacing
    case session(SessionName)

    /// Asks on a terminal if the session has a token for another API. Without a terminal, chooses a session with the name
    /// of the host, unless the user named the session.
    ///
    /// - Parameter earlier: The account of the session before the sign-in; `nil` if there is none, or if it cannot be read.
    static func chosen<App: AccountApplication>(
        for plan: SignInPlan, besides earlier: Account?, in context: CommandContext<App>
    ) async throws -> SignInPlace {
        let (service, authority) = (plan.service, plan.authority)
        let isNamedByAPI = authority.namingAPI != nil
        // With an issuer, the options may name the API.
        guard plan.extended == nil, let earlier, let url = isNamedByAPI ? service.url : service.resources.first,
            let ruled = try? RuleURL(String(url.prefix { $0 != "?" }))
        else { return .here }
        let resources = isNamedByAPI ? try await authority.signInResources() : service.resources
        let issuer = authority.issuer
        let remembered = context.readableService(of: context.session)?.url
        guard earlier.isForOtherAPI(signedInAt: remembered, than: url, resources, issuer: issuer) else {
            return .here
        }
        let other = earlier.credentials.resources.first?.shown ?? remembered?.shown ?? "another API"
        let isNamed = context.options.session != nil || Environment.value(App.sessionVariable) != nil
        guard context.canAsk else {
            if isNamed { return .replacing }
            let session = try await freeSession(for: url, ruled, resources, issuer: issuer, in: context)
            Terminal.say(
                nil,
                """
                Session \(context.session) stays signed in for \(other). The sign-in for \(url) goes to session \
                \(session); to use it in other commands, add --session \(session).
                """)
            return .session(session)
        }
        Terminal.say("Session \(context.session) is signed in for \(other), and programs use its token there.")
        let session = try await freeSession(for: url, ruled, resources, issuer: issuer, in: context)
        if isNamed {
            guard try Terminal.confirms("Replace it with a sign-in for \(url.shown)? [y/N] ") else {
                throw AccountError(
                    .cancelled, "session \(context.session) is still signed in for \(other)",
                    hint: "to keep both, run `\(context.tool) login \(url.shellWord) --session \(session)`")
            }
            return .replacing
        }
        let answer = try Terminal.ask("Sign in for \(url.shown) in another session, \(session)? [Y/n] ")
        return answer.lowercased().hasPrefix("n") ? .replacing : .session(session)
    }

    /// Returns the first session named after the host that has no account, or an account for the same API.
    private static func freeSession(
        for url: String, _ ruled: RuleURL, _ resources: [String], issuer: String?,
        in context: CommandContext<some AccountApplication>
    ) async throws -> SessionName {
        for number in 1...99 {
            let session = SessionName(namedAfter: ruled, number: number)
            guard session != context.session else { continue }
            switch try await context.archive(of: session, isInteractive: false).load() {
            case .signedOut: return session
            case .verified(let account), .unverified(let account, _):
                let remembered = context.readableService(of: session)?.url
                let isOther = account.isForOtherAPI(signedInAt: remembered, than: url, resources, issuer: issuer)
                // A session of a service, and not of an API, is not replaced.
                if !isOther, !account.credentials.resources.isEmpty || remembered != nil { return session }
            case .unreadable: continue
            }
        }
        throw AccountError(
            .invalidArgument, "there are too many sessions named after \(ruled.host)", hint: "choose one with --session"
        )
    }
}

extension Account {
    /// Returns whether this account is for another API than a sign-in. An account that is for no API is not.
    ///
    /// - Parameters:
    ///   - remembered: The URL with which the user signed in to this account; `nil` without a URL.
    ///   - url: The URL of the sign-in.
    ///   - resources: The resources that the sign-in requests, that of the API first; empty if the API names none.
    ///   - issuer: The issuer of the sign-in.
    func isForOtherAPI(
        signedInAt remembered: String?, than url: String, _ resources: [String], issuer other: String?
    ) -> Bool {
        let old = credentials.resources
        let isRepeated = remembered.map { RuleSignIn.isSame($0, url) } ?? false
        if old.isEmpty {
            guard remembered != nil, !isRepeated else { return false }
            return !(resources.isEmpty && other == issuer)
        }
        if let resource = resources.first {
            if old.contains(where: { RuleSignIn.isSame($0, resource) }) { return false }
            // The API may have renamed its resource.
            guard isRepeated else { return true }
        }
        guard let url = try? RuleURL(String(url.prefix { $0 != "?" })) else { return true }
        return !old.contains { (try? RuleURL($0))?.covers(url) == true }
    }
}
