import AccountKit

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A token as it is kept in a file or handed out: what it is, and until when.
struct KeptToken: Sendable, Equatable {
    enum Kind: Sendable {
        case access
        /// OpenID Connect Core, section 2.
        case id
    }

    let secret: Secret
    let issuedAt: Date

    /// `nil` is unknown, and never means expired.
    let expiresAt: Date?

    /// Whether there is a refresh token to get another with.
    let isRenewable: Bool

    /// Where its session was moved to, if it was: who wants another token gets it there.
    var move: SessionMove?

    init(secret: Secret, issuedAt: Date, expiresAt: Date?, isRenewable: Bool) {
        self.secret = secret
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.isRenewable = isRenewable
    }

    /// - Throws: `misconfigured`, with what to do, if the service issued no ID token, or one that does not say until when it is
    ///   good: OpenID Connect Core, section 2, wants that. `serviceUnavailable` if the service said that the tokens are another
    ///   user's.
    init(_ kind: Kind, of credentials: Credentials, in session: SessionName) throws(AccountError) {
        guard !credentials.isWithheld else { throw AccountError(withheld: .withheld) }
        let isRenewable = credentials.refreshToken != nil
        switch kind {
        case .access:
            self.init(
                secret: credentials.accessToken, issuedAt: credentials.issuedAt, expiresAt: credentials.expiresAt,
                isRenewable: isRenewable)
        case .id:
            guard let token = credentials.idToken else {
                throw AccountError(
                    .misconfigured,
                    "the service issued no ID token: sign in again with "
                        + "`\(CommandHint(session: session).command("login", "--scope openid"))`, if it has any")
            }
            let read = JSONWebToken(token)
            guard let expiresAt = read?.expiresAt else {
                throw AccountError(
                    .misconfigured,
                    "the ID token does not say until when it is good (exp), so no program gets it: use the access token, "
                        + "without --id-token")
            }
            // It may be older than the access token: not every refresh brings another.
            let issuedAt = read?.issuedAt.map { min($0, credentials.issuedAt) } ?? credentials.issuedAt
            self.init(
                secret: try token.fitForHeader(), issuedAt: issuedAt, expiresAt: expiresAt, isRenewable: isRenewable)
        }
    }

    /// In seconds; `nil` if it is unknown.
    var life: TimeInterval? { expiresAt.map { max(0, $0.timeIntervalSince(issuedAt)) } }

    /// From when on nobody should begin to use it: a little before it expires, for who reads it at the last moment.
    var end: Date? {
        guard let expiresAt, let life else { return nil }
        return expiresAt.addingTimeInterval(-min(5, life / 20))
    }

    func isOver(at date: Date) -> Bool {
        guard let end, !isFromFuture(at: date) else { return false }
        return end <= date
    }

    /// Whether the clock was set back since it was issued, so that its expiry says nothing; see `Credentials.isFromFuture`.
    func isFromFuture(at date: Date) -> Bool { expiresAt != nil && issuedAt.timeIntervalSince(date) > 300 }

    /// When to get the next one: at two thirds of its life, or a little earlier, so that not all who began together come
    /// together.
    ///
    /// - Parameter random: From 0 to 1.
    func renewal(random: Double) -> Date? {
        guard isRenewable, let life else { return nil }
        return issuedAt.addingTimeInterval(life * (2.0 / 3 - random / 20))
    }

    /// Whether nobody need get another one yet.
    ///
    /// - Parameter validity: For how long it should still be good; `nil` is a minute, or half of its life if that is less.
    func isGood(for validity: Duration?, at date: Date) -> Bool {
        guard let expiresAt else { return true }
        return !isFromFuture(at: date) && expiresAt > date.addingTimeInterval(seconds(validity))
    }

    /// Whether a refresh may bring another one that is good for longer.
    ///
    /// A service may leave the ID token out of its response to a refresh (OpenID Connect Core, section 12.2). One that did is asked
    /// again only when the token has ended since then.
    ///
    /// - Parameters:
    ///   - validity: As for ``isGood(for:at:)``.
    ///   - response: When the service issued tokens for the last time.
    ///   - date: Now.
    func isWorthRenewing(for validity: Duration?, lastResponse response: Date, at date: Date) -> Bool {
        guard isRenewable, let expiresAt, let life else { return false }
        // It came with that response; the clocks of the service and of this machine may be apart.
        if response.timeIntervalSince(issuedAt) < min(120, life / 2) { return true }
        return response < (expiresAt > date ? expiresAt.addingTimeInterval(-seconds(validity)) : expiresAt)
    }

    private func seconds(_ validity: Duration?) -> TimeInterval { validity?.seconds ?? min(60, (life ?? 0) / 2) }
}

extension AccountStore {
    /// Gets new tokens from the service, unless another process was faster.
    ///
    /// - Parameters:
    ///   - token: What there was.
    ///   - kind: Of which kind.
    ///   - timeout: How long to wait; `nil` as long as it takes.
    ///   - authority: The service of an account.
    /// - Returns: The account with them; `nil` if there is another token already.
    /// - Throws: As `refresh(with:timeout:)`, and `serviceUnavailable` while the service is to be left alone.
    func renew(
        _ token: KeptToken, _ kind: KeptToken.Kind, timeout: Duration? = nil,
        with authority: (Account) throws -> any AccountAuthority
    ) async throws -> Account? {
        guard let account = await load().account,
            try KeptToken(kind, of: account.credentials, in: session) == token
        else { return nil }
        if let pause = await refreshPause() {
            throw AccountError(
                .serviceUnavailable, "a refresh failed a moment ago, and is tried again in \(pause.wholeSeconds) s")
        }
        return try await refresh(with: authority(account), timeout: timeout)
    }
}
