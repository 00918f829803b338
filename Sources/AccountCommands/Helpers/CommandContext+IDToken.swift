import AccountKit

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension CommandContext {
    /// The ID token of the session, if it is still good by its own `exp`; else a new one.
    ///
    /// - Throws: Why there is none, with what to do. An old one is not handed out.
    func helperIDToken() async throws -> HelperToken {
        guard App.environmentToken == nil else {
            throw AccountError(
                .invalidArgument, "\(App.tokenVariable) is set, and holds an access token: unset it to use an ID token")
        }
        var account = try await signedInAccount()
        var expiry = try idTokenExpiry(of: account)
        if isToBeRenewed(account.credentials, expiry) {
            let authority = try authority(of: account)
            let old = account
            account = try await Waiting.shown(for: account.issuer ?? "the service", upTo: authority.exchangeTimeout) {
                do {
                    return try await store.refresh(with: authority)
                } catch let error as AccountError where expiry > SystemWallClock().now && error.code != .notSignedIn {
                    // The old one is still good.
                    return old
                }
            }
            expiry = try idTokenExpiry(of: account)
        }
        guard expiry > SystemWallClock().now else {
            throw AccountError(
                .notSignedIn,
                "the ID token has expired, and the service gives no new one without a sign-in: sign in again with "
                    + "`\(StateText.login(tool, session))`")
        }
        guard let token = account.credentials.idToken else { throw noIDToken }
        return HelperToken(token: try token.fitForHeader(), username: account.username, expiresAt: expiry)
    }

    /// A service that has given a new access token since, and no new ID token, is not asked again.
    private func isToBeRenewed(_ credentials: Credentials, _ expiry: Date) -> Bool {
        let now = SystemWallClock().now
        guard credentials.refreshToken != nil, expiry.timeIntervalSince(now) < 60 else { return false }
        return credentials.issuedAt < (expiry > now ? expiry.addingTimeInterval(-60) : expiry)
    }

    private func idTokenExpiry(of account: Account) throws(AccountError) -> Date {
        guard let token = account.credentials.idToken else { throw noIDToken }
        guard let expiry = JSONWebToken(token)?.expiresAt else {
            throw AccountError(
                .misconfigured, "the ID token does not say until when it is good (exp), so no program gets it")
        }
        return expiry
    }

    private var noIDToken: AccountError {
        AccountError(
            .misconfigured,
            "the service issued no ID token: sign in again with `\(StateText.login(tool, session)) --scope openid`, if it has any"
        )
    }
}
