import Synchronization

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Access tokens, and new ones for old.
extension AccountStore {
    /// An access token that is good for a while, refreshed first if need be.
    ///
    /// - Parameters:
    ///   - minimumValidity: For how many seconds the token should still be good; with `nil` 60 s, or half of its whole
    ///     lifetime if that is less. A token of unknown expiry always is.
    ///   - authority: The service.
    /// - Returns: The token. If it could not be refreshed and has not expired yet, the one that there is. After a failure
    ///   the service is left alone for a while, which grows from 2 s to 5 min.
    /// - Throws: ``AccountError/Code-swift.struct/notSignedIn`` if nobody is signed in (any more), or
    ///   ``AccountError/Code-swift.struct/serviceUnavailable`` if the token has expired and could not be refreshed now.
    public func accessToken(
        minimumValidity: TimeInterval? = nil, with authority: any AccountAuthority
    ) async throws(AccountError) -> Secret {
        let account = try await loadedAccount()
        let (credentials, now) = (account.credentials, clock.now)
        let validity = minimumValidity ?? credentials.usualValidity
        guard credentials.expires(within: validity, of: now) || credentials.isFromFuture(at: now),
            credentials.refreshToken != nil
        else { return credentials.accessToken }
        let isUsable = !credentials.expires(within: 0, of: now)
        return try await replacedToken(of: account, with: authority, isUsable: isUsable)
    }

    /// An access token in place of one that a service has just refused as not valid any more (RFC 6750, section 3.1).
    ///
    /// - Parameters:
    ///   - refused: The token that was sent.
    ///   - authority: The service that issued it.
    /// - Returns: The stored token, if that is another one by now; else a new one. `nil` if a new one would be no better:
    ///   there is no refresh token, or the refused one was issued less than a minute ago.
    /// - Throws: As ``accessToken(minimumValidity:with:)``.
    public func accessToken(
        insteadOf refused: Secret, with authority: any AccountAuthority
    ) async throws(AccountError) -> Secret? {
        let account = try await loadedAccount()
        guard account.credentials.accessToken == refused else { return account.credentials.accessToken }
        let age = clock.now.timeIntervalSince(account.credentials.issuedAt)
        guard account.credentials.refreshToken != nil, !(0..<60).contains(age) else { return nil }
        return try await replacedToken(of: account, with: authority, isUsable: false)
    }

    /// A new access token, unless the service is to be left alone for a while.
    ///
    /// - Parameters:
    ///   - account: The account with the old one.
    ///   - authority: The service.
    ///   - isUsable: Whether the old one will do if there is no other.
    private func replacedToken(
        of account: Account, with authority: any AccountAuthority, isUsable: Bool
    ) async throws(AccountError) -> Secret {
        if let wait = backoff.withLock({ $0.wait(for: account.credentials, at: clock.now) }) {
            if isUsable { return account.credentials.accessToken }
            throw AccountError(
                .serviceUnavailable,
                "the token is not good any more and could not be refreshed a moment ago; the next try is in "
                    + "\(Int(wait) + 1) s, and you are still signed in")
        }
        return try await refreshedAccount(account, with: authority, isUsable: isUsable).credentials.accessToken
    }

    /// Refreshes the tokens now, whether they look expired or not.
    ///
    /// - Throws: As ``accessToken(minimumValidity:with:)``, and ``AccountError/Code-swift.struct/misconfigured`` if there
    ///   is no refresh token.
    @discardableResult
    public func refresh(with authority: any AccountAuthority) async throws(AccountError) -> Account {
        let account = try await loadedAccount()
        guard account.credentials.refreshToken != nil else {
            throw AccountError(
                .misconfigured, "the service gave no refresh token, so there is nothing to refresh with: sign in again")
        }
        return try await refreshedAccount(account, with: authority, isUsable: false)
    }

    func loadedAccount() async throws(AccountError) -> Account {
        switch await load() {
        case .verified(let account), .unverified(let account, _): return account
        case .signedOut(let signOut): throw AccountError(notSignedIn: signOut)
        case .unreadable(let error): throw error
        }
    }

    private func refreshedAccount(
        _ account: Account, with authority: any AccountAuthority, isUsable: Bool
    ) async throws(AccountError) -> Account {
        let outcome = await driver.refresh(account, authority)
        switch outcome {
        case .kept(_, let reason) where reason.code == .cancelled: break
        case .kept(_, let reason):
            let jitter = Double.random(in: 0.5...1)
            backoff.withLock { $0.fail(for: account.credentials, reason, at: clock.now, jitter: jitter) }
        default: backoff.withLock { $0.succeed() }
        }
        switch outcome {
        case .renewed(let account), .adopted(let account), .unsaved(let account, _): return account
        case .signedOut(let signOut): throw AccountError(notSignedIn: signOut)
        case .unreadable(let error):
            if isUsable { return account }
            throw error
        case .kept(let account, let reason):
            if isUsable { return account }
            let code: AccountError.Code =
                switch reason.code {
                case .misconfigured: .misconfigured
                case .busy: .busy
                case .cannotSave: .inaccessible
                default: .serviceUnavailable
                }
            throw AccountError(
                code,
                "the tokens could not be refreshed (\(reason)); you are still signed in")
        }
    }
}
