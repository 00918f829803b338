package import AccountKit
package import AccountSupport

/// A token that is kept in a file or passed to a program, with its lifetime.
package struct KeptToken: Sendable, Equatable {
    package enum Kind: Sendable {
        case access
        case id
    }

    package let secret: Secret
    let issuedAt: Date

    /// The date when the token expires; `nil` if the date is unknown. A token without this date never counts as
    /// expired.
    package let expiresAt: Date?

    package let isRenewable: Bool

    init(secret: Secret, issuedAt: Date, expiresAt: Date?, isRenewable: Bool) {
        self.secret = secret
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.isRenewable = isRenewable
    }

    /// Throws `misconfigured` if the service issued no ID token, or an ID token without an expiry, which OpenID Connect
    /// Core, section 2, requires. Throws `serviceUnavailable` if the tokens are withheld. Throws `misconfigured` if the access token requires a proof in each request.
    package init(_ kind: Kind, of credentials: Credentials, in session: SessionName) throws(AccountError) {
        guard !credentials.isWithheld else { throw AccountError(withholding: credentials) }
        let isRenewable = credentials.isRenewable
        switch kind {
        case .access:
            try credentials.checkIsBearer(CommandHint(session: session))
            self.init(
                secret: credentials.accessToken, issuedAt: credentials.issuedAt, expiresAt: credentials.expiresAt,
                isRenewable: isRenewable)
        case .id:
            guard let token = credentials.idToken else {
                guard credentials.machine == nil else {
                    throw AccountError(
                        .misconfigured, "the session of a client has no ID token, because it has no user")
                }
                throw AccountError(
                    .misconfigured,
                    "the service issued no ID token",
                    hint:
                        "sign in again with `\(CommandHint(session: session).command("login", "--scope openid"))`, if the service supports this scope"
                )
            }
            let read = JSONWebToken(token)
            guard let expiresAt = read?.expiresAt else {
                throw AccountError(
                    .misconfigured,
                    "the ID token has no expiry (exp), so it is not passed on",
                    hint: "omit --id-token to use the access token")
            }
            // The ID token may be older than the access token, because not every refresh returns a new one.
            let issuedAt = read?.issuedAt.map { min($0, credentials.issuedAt) } ?? credentials.issuedAt
            self.init(
                secret: try token.fitForHeader(), issuedAt: issuedAt, expiresAt: expiresAt, isRenewable: isRenewable)
        }
    }

    /// The lifetime in seconds; `nil` if unknown.
    package var life: TimeInterval? { expiresAt.map { max(0, $0.timeIntervalSince(issuedAt)) } }

    /// The date from which the token must not be used. A program that reads the token just before this date can still
    /// use it.
    package var end: Date? {
        guard let expiresAt, let life else { return nil }
        return expiresAt.addingTimeInterval(-min(5, life / 20))
    }

    package func isOver(at date: Date) -> Bool {
        guard let end, !isFromFuture(at: date) else { return false }
        return end <= date
    }

    /// Whether the clock was set back after the token was issued, so that its expiry is meaningless.
    package func isFromFuture(at date: Date) -> Bool { expiresAt != nil && issuedAt.timeIntervalSince(date) > 300 }

    /// Returns the date of the next refresh: after two thirds of the lifetime, or slightly earlier, so that processes
    /// that started at the same time don't refresh at the same time. `random` is a number from 0 to 1.
    package func renewal(random: Double) -> Date? {
        guard isRenewable, let life else { return nil }
        return issuedAt.addingTimeInterval(life * (2.0 / 3 - random / 20))
    }

    /// Returns whether the token is valid for long enough: by default, for a minute, or for half of its lifetime if
    /// that is less.
    func isGood(for validity: Duration?, at date: Date) -> Bool {
        guard let expiresAt else { return true }
        return !isFromFuture(at: date) && expiresAt > date.addingTimeInterval(seconds(validity))
    }

    /// Returns whether a refresh may obtain a token that is valid for longer. `response` is the date when the service
    /// last issued tokens. If that response omitted the ID token (OpenID Connect Core, section 12.2), a refresh is
    /// worthwhile only after the token has expired.
    func isWorthRenewing(for validity: Duration?, lastResponse response: Date, at date: Date) -> Bool {
        guard isRenewable, let expiresAt, let life else { return false }
        // The token came with that response; the clocks of the service and this machine may differ.
        if response.timeIntervalSince(issuedAt) < min(120, life / 2) { return true }
        return response < (expiresAt > date ? expiresAt.addingTimeInterval(-seconds(validity)) : expiresAt)
    }

    private func seconds(_ validity: Duration?) -> TimeInterval { validity?.seconds ?? min(60, (life ?? 0) / 2) }
}

extension AccountStore {
    /// Obtains new tokens from the service; `nil` if the archive already contains another token. Throws the errors of
    /// `refresh(with:timeout:)`, and `serviceUnavailable` during a pause after a failed refresh.
    package func renew(
        _ token: KeptToken, _ kind: KeptToken.Kind, timeout: Duration? = nil,
        with authority: (Account) throws -> any AccountAuthority
    ) async throws -> Account? {
        guard let account = await load().account,
            try KeptToken(kind, of: account.credentials, in: session) == token
        else { return nil }
        if let pause = await pauseReason() { throw AccountError(notRefreshed: pause) }
        return try await refresh(with: authority(account), timeout: timeout)
    }
}
