import AccountCommands
import AccountKit
import AccountSupport
import Synchronization

/// Sends requests to a URL with the token that a rule allows. Rules and sessions may change at any time.
final class RuledSender<App: AccountApplication>: Sendable {
    private let url: RequestURL
    private let options: CommonOptions

    /// One context a session, so that all requests share its store.
    private let contexts = Mutex<[SessionName: CommandContext<App>]>([:])

    init(url: RequestURL, options: CommonOptions) {
        self.url = url
        self.options = options
    }

    func send(_ request: ForwardedRequest) async throws -> ForwardedResponse {
        // The rule allows the token for this URL only.
        guard request.url == url.text else {
            throw AccountError(.invalidArgument, "the request is not for \(url.text), so it gets no token")
        }
        let rule = try url.rule(in: Preferences(container: try App.container()))
        let context = try context(of: rule.session)
        do {
            let store = try context.helperStore()
            let account = try await context.signedInAccount(in: store)
            let (isGiven, hint) = (store.usesGivenToken, context.hint)
            let check: @Sendable (Account) throws(AccountError) -> Void = { account throws(AccountError) in
                if !isGiven { try rule.checkSignIn(of: account, hint) }
                try account.credentials.checkIsBearer(hint)
            }
            try check(account)
            // The service of a token from the environment may be unknown, and the token is never refreshed.
            if App.environmentToken == nil || store === context.archive {
                _ = try await context.withUsableToken(account, in: store)
            }
            let authority = try context.forwarding(of: account)
            // The service of a token from the environment may be unknown. Send the token only to the URL of the request.
            let tokens = store.requestTokens(with: authority, asksService: !isGiven, checking: check)
            let response = try await authority.forward(request, with: tokens)
            guard response.status == 401 else { return response }
            // The server may have forgotten only its own session, which the caller can begin again.
            // Without a body, only the explanation is missing.
            let body = (try? await response.collected(upTo: 1 << 20, from: url.text)) ?? []
            if request.fields["Mcp-Session-Id"] != nil, response.refusesSession(body) { return response }
            let words = response.explanation(in: body).map { ": \($0)" } ?? ""
            throw AccountError(
                .notSignedIn, "\(url.text) rejected the token of session \(rule.session)\(words)",
                hint: store.usesGivenToken
                    ? AccountError.hint(forTokenIn: App.tokenVariable)
                    : "check that the session is for this API, and sign in again with `\(context.hint.command("login"))`"
            )
        } catch var error as AccountError {
            if error.code == .renewalRefused {
                error.nameSignIn(command: context.hint.command("login"), orReplaceTokenIn: nil)
            }
            if error.code == .notSignedIn, error.hint?.contains("`") != true, App.environmentToken == nil {
                error.hint = "run `\(context.hint.command("login"))`"
            }
            if let requirement = error.accessRequirement {
                error.hint =
                    try context.helperStore().usesGivenToken
                    ? AccountError.hint(forTokenIn: App.tokenVariable)
                    : "run `\(context.hint.command("login", requirement.signInOptions))`"
            }
            throw error
        }
    }

    /// Sends a request without effect, so that a token that the server has forgotten is renewed. If there is no response soon,
    /// the token stays as it is.
    func check() async {
        let request = ForwardedRequest(
            method: "GET", url: url.text, fields: ["Accept": "application/json, text/event-stream"])
        _ = try? await withDeadline(.now + .seconds(5)) { [self] in try await send(request).status }
    }

    private func context(of session: SessionName) throws -> CommandContext<App> {
        if let context = contexts.withLock({ $0[session] }) { return context }
        let made = try CommandContext<App>(options, session: session, isInteractive: false)
        return contexts.withLock { contexts in
            let context = contexts[session] ?? made
            contexts[session] = context
            return context
        }
    }

    func finishPendingRequests() async {
        for context in contexts.withLock({ Array($0.values) }) { await context.finishPendingRequests() }
    }
}

extension CommandContext {
    /// The store with the token that other programs get. A token from the environment replaces the archive only for the
    /// current session, because it belongs to one service.
    func helperStore() throws -> AccountStore {
        guard App.environmentToken != nil else { return store }
        return try App.chosenSession(nil, preferences) == session ? store : archive
    }

    /// Returns the authority that sends requests with the tokens of an account.
    func forwarding(of account: Account) throws -> any ServiceAuthority {
        // The service of a token from the environment may be unknown, and is not needed, since the token is never
        // refreshed. No request can reach the name below (RFC 6761, section 6.4), so no other server gets the token.
        let isGiven = account.issuer == nil && App.environmentToken != nil
        let unknown = AccountService(issuer: "https://unknown.invalid")
        return isGiven && App.acceptsIssuer
            ? try App.authority(with: AuthorityOptions(service: unknown)).serviceAuthority
            : try authority(of: account)
    }
}
