import AccountSupport

/// The request of a refresh: its grant, whether it spends the refresh token, and the meaning of a response.
enum RefreshGrant: Sendable {
    /// New tokens for the session, with its refresh token.
    case session

    /// Another access token for a client without a user. The request sends no stored token, so no response ends the
    /// session: another program may have the right client secret.
    case client

    /// A token for another API.
    case derived(Derivation)

    /// The grant that renews the tokens of an account.
    static func renewing(_ account: Account) -> RefreshGrant {
        account.credentials.machine == nil ? .session : .client
    }

    /// The meaning of a failed request.
    enum Meaning: Sendable {
        /// The service has ended the session. The text is the service's error code.
        case ended(String)

        /// The refusal may concern only this request: the response to a plain refresh determines whether the session has
        /// ended.
        case refreshFirst(Derivation, UnverifiedReason)
        case kept(UnverifiedReason)
    }

    /// The same grant for the tokens that are now stored.
    func applied(to stored: Account) -> RefreshGrant { derivation == nil ? .renewing(stored) : self }

    var request: TokenRequest { derivation?.request ?? .refresh }

    var derivation: Derivation? { if case .derived(let derivation) = self { derivation } else { nil } }

    /// Whether the request is a token exchange, which replaces no stored tokens.
    var isTokenExchange: Bool { derivation?.means == .tokenExchange }

    /// Whether the request spends the refresh token. If not, the flow records no intent, and no response ends the session.
    var spendsRefreshToken: Bool {
        switch self {
        case .session: true
        case .client: false
        case .derived(let derivation): derivation.means == .refresh
        }
    }

    /// Returns why the tokens of an account cannot be requested; `nil` if they can.
    func obstacle(in credentials: Credentials) -> UnverifiedReason? {
        let isPossible =
            switch self {
            case .session, .client: credentials.isRenewable
            case .derived(let derivation): derivation.means == .tokenExchange || credentials.refreshToken != nil
            }
        return isPossible ? nil : .init(.notChecked, detail: "there is no refresh token")
    }

    /// Returns whether a request is still needed: the stored tokens are the tokens to replace, or the derived token is
    /// missing or expires too soon. `known` is the account that the caller wants to refresh.
    func isNeeded(for stored: Account, inPlaceOf known: Account, at now: Date) -> Bool {
        guard stored.isSameUser(as: known) else { return false }
        // A token for another API may have replaced the refresh token, but not the access token.
        guard let derivation else { return !stored.credentials.isRefreshed(since: known.credentials) }
        guard let found = stored.credentials.derivedToken(for: derivation.target) else { return true }
        let old = known.credentials.derivedToken(for: derivation.target)
        guard found.credentials.accessToken == old?.credentials.accessToken else { return false }
        if found.credentials.accessToken == derivation.refused { return true }
        return !found.credentials.isGood(for: derivation.validity, at: now)
    }

    func meaning(of failure: AuthorityError) -> Meaning {
        switch self {
        case .session:
            switch SessionDecision.afterRefresh(failure) {
            case .clear(let detail): .ended(detail)
            case .keep(let reason): .kept(reason)
            }
        case .derived(let derivation) where derivation.means == .refresh:
            switch SessionDecision.afterDerivation(failure) {
            case .refreshOnce(let reason): .refreshFirst(derivation, reason)
            case .keep(let reason): .kept(reason)
            }
        case .client, .derived: .kept(SessionDecision.afterTokenExchange(failure))
        }
    }

    /// Returns whether a failure is about this request for another API, and does not delay refreshes.
    func isAboutDerivation(_ reason: UnverifiedReason) -> Bool { derivation != nil && reason.isAboutRequest }

    /// Returns whether a failure may concern only this API, or only the client secret of this process, so that the
    /// requests of other processes need not wait.
    func isPrivate(_ reason: UnverifiedReason, of account: Account) -> Bool {
        if account.credentials.machine != nil { return !reason.isAboutService }
        return isTokenExchange && reason.isAboutRequest
    }

    /// Returns the stored account with the tokens of a response. `flaw` is why no program gets the access token.
    func account(_ stored: Account, with response: Credentials, _ flaw: UnverifiedReason?, at now: Date) -> Account {
        var renewed = stored
        if let derivation {
            if flaw == nil { renewed.credentials.keep(response, for: derivation.target, at: now) }
            if let endpoint = response.tokenEndpoint { renewed.credentials.tokenEndpoint = endpoint }
            if spendsRefreshToken, let next = response.refreshToken { renewed.credentials.refreshToken = next }
            if response.isOfOtherUser { renewed.credentials.isOfOtherUser = true }
            return renewed
        }
        renewed.credentials = stored.credentials.renewed(by: response)
        // An authority may use the date of its service. If that date is in the future, it must not cause another
        // refresh.
        if renewed.credentials.isFromFuture(at: now) { renewed.credentials.issuedAt = now }
        if flaw == nil { renewed.verifiedAt = now }
        return renewed
    }
}

/// A token for another API, and the grant that obtains it.
struct Derivation: Sendable, Equatable {
    let target: TokenTarget
    let means: TokenDerivation

    /// The time for which the token must be valid; `nil` for ``Credentials/usualValidity``.
    let validity: Duration?

    /// The token that an API refused; `nil` if none was refused.
    var refused: Secret?

    var request: TokenRequest { .derivation(target, means) }
}

extension UnverifiedReason {
    fileprivate var isAboutRequest: Bool { code == .misconfigured || code == .insufficientScope }

    /// Whether the failure concerns every client of the service, or the network of this machine.
    fileprivate var isAboutService: Bool {
        let codes: [Code] = [
            .offline, .serverError, .rateLimited, .captivePortal, .untrustedTLS, .proxyAuthenticationRequired,
        ]
        return codes.contains(code)
    }

    /// Whether the service may have refused the client of this process.
    var isRefusalOfClient: Bool { [.misconfigured, .insufficientScope, .unclearReply].contains(code) }
}
