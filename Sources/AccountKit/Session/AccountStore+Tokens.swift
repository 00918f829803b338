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
    /// - Throws: ``AccountError/Code-swift.struct/notSignedIn`` if nobody is signed in (any more),
    ///   ``AccountError/Code-swift.struct/serviceUnavailable`` if the token has expired and could not be refreshed now, or
    ///   ``AccountError/Code-swift.struct/misconfigured`` if who is signed in is of another service.
    public func accessToken(
        minimumValidity: TimeInterval? = nil, with authority: any AccountAuthority
    ) async throws(AccountError) -> Secret {
        try await usableAccount(minimumValidity: minimumValidity, with: authority).credentials.accessToken
    }

    /// The account, with such an access token.
    package func usableAccount(
        minimumValidity: TimeInterval?, with authority: any AccountAuthority
    ) async throws(AccountError) -> Account {
        let account = try await loadedAccount(of: authority)
        let (credentials, now) = (account.credentials, clock.now)
        let validity = minimumValidity ?? credentials.usualValidity
        guard credentials.expires(within: validity, of: now) || credentials.isFromFuture(at: now),
            credentials.refreshToken != nil
        else { return account }
        let isUsable = !credentials.expires(within: 0, of: now)
        return try await renewed(account, with: authority, isUsable: isUsable)
    }

    /// The account with another access token than one that a service has just refused as not valid any more (RFC 6750,
    /// section 3.1).
    ///
    /// - Parameters:
    ///   - refused: The account with the token that was sent.
    ///   - authority: The service that issued it.
    /// - Returns: What is stored, if that has another token by now; else a new one. `nil` if a new one would be no better:
    ///   there is no refresh token, or the refused one was issued less than a minute ago.
    /// - Throws: As ``accessToken(minimumValidity:with:)``, and ``AccountError/Code-swift.struct/conflict`` if another user
    ///   has signed in meanwhile.
    package func account(
        insteadOf refused: Account, with authority: any AccountAuthority
    ) async throws(AccountError) -> Account? {
        var account = try await loadedAccount(of: authority)
        if account.credentials.accessToken == refused.credentials.accessToken {
            let age = clock.now.timeIntervalSince(account.credentials.issuedAt)
            guard account.credentials.refreshToken != nil, !(0..<60).contains(age) else { return nil }
            account = try await renewed(account, with: authority, isUsable: false)
        }
        guard account.isSameUser(as: refused) else {
            throw AccountError(.conflict, "another user has signed in meanwhile: what was asked for was not repeated")
        }
        return account
    }

    /// The account with a new access token, unless the service is to be left alone for a while.
    ///
    /// - Parameters:
    ///   - account: The account with the old one.
    ///   - authority: The service.
    ///   - isUsable: Whether the old one will do if there is no other.
    private func renewed(
        _ account: Account, with authority: any AccountAuthority, isUsable: Bool
    ) async throws(AccountError) -> Account {
        if let wait = backoff.withLock({ $0.wait(for: account.credentials, at: clock.now) }) {
            if isUsable { return account }
            throw AccountError(
                .serviceUnavailable,
                "the token is not good any more and could not be refreshed a moment ago; the next try is in "
                    + "\(Int(wait) + 1) s, and you are still signed in")
        }
        let renewed = try await refreshedAccount(account, with: authority, isUsable: isUsable)
        // Another process may have signed in at another service.
        try check(renewed, isOf: authority)
        return renewed
    }

    private func loadedAccount(of authority: any AccountAuthority) async throws(AccountError) -> Account {
        let account = try await loadedAccount()
        try check(account, isOf: authority)
        return account
    }

    private func check(_ account: Account, isOf authority: any AccountAuthority) throws(AccountError) {
        guard authority.isAuthority(of: account) else {
            throw AccountError(
                .misconfigured,
                "who is signed in is of \(account.issuer ?? "another service"), whose token goes nowhere else")
        }
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
                case .cancelled: .cancelled
                default: .serviceUnavailable
                }
            throw AccountError(
                code,
                "the tokens could not be refreshed (\(reason)); you are still signed in")
        }
    }
}
