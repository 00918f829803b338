package import AccountKit

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
package import Foundation
#endif

extension CommandContext {
    /// Returns an ID token whose `exp` is far enough in the future. If the service issues no such token, returns the
    /// current ID token while it is valid. A `minimumValidity` of `nil` means a minute, or half of the lifetime if that
    /// is less. Throws `serviceUnavailable` if the network is needed but unavailable.
    ///
    /// - Parameter check: Throws an error if the token of an account must not be returned. Another sign-in may replace the
    ///   account at any time.
    package func usableIDToken(
        _ account: Account, minimumValidity: Duration? = nil, checking check: (Account) throws -> Void = { _ in }
    ) async throws -> KeptToken {
        guard App.environmentToken == nil else {
            throw AccountError(
                .invalidArgument, "\(App.tokenVariable) contains an access token", hint: "unset it to use an ID token")
        }
        let now = SystemWallClock().now
        var account = account
        if account.credentials.isWithheld {
            account = try await store.confirmedAccount(account, with: try authority(of: account), .seconds(10))
        }
        try check(account)
        let token = try KeptToken(.id, of: account.credentials, in: session)
        if token.isGood(for: minimumValidity, at: now) { return token }
        let isUsable = !hasEnded(token)
        guard
            token.isWorthRenewing(for: minimumValidity, lastResponse: account.credentials.issuedAt, at: now)
        else {
            guard isUsable else { throw end(of: token) }
            return token
        }
        let renewed: KeptToken
        do {
            let current = try await renew(token, of: account, isUsable: isUsable)
            try check(current)
            renewed = try KeptToken(.id, of: current.credentials, in: session)
        } catch let error as AccountError where isUsable && error.code != .notSignedIn {
            guard store.account?.credentials.isWithheld != true else { throw error }
            return token
        }
        guard !hasEnded(renewed) else { throw end(of: renewed) }
        return renewed
    }

    private func renew(_ token: KeptToken, of account: Account, isUsable: Bool) async throws -> Account {
        let authority = try authority(of: account)
        let timeout: Duration? = isUsable ? .seconds(5) : nil
        let limit = timeout ?? authority.tokenRequestTimeout
        let renewed = try await Waiting.shown(for: account.issuer ?? "the service", upTo: limit) {
            try await store.renew(token, .id, timeout: timeout) { try self.authority(of: $0) }
        }
        // Another process may have renewed the token first.
        return if let renewed { renewed } else { try await signedInAccount() }
    }

    private func hasEnded(_ token: KeptToken) -> Bool { token.expiresAt.map { $0 <= SystemWallClock().now } ?? false }

    private func end(of token: KeptToken) -> AccountError {
        let end = token.expiresAt.map { " expired \(StateText.relative($0))" } ?? " has expired"
        return AccountError(
            .notSignedIn,
            "the ID token\(end), and the service issues a new one only after a sign-in",
            hint:
                "sign in again with `\(hint.command("login"))`; if the token is new, run `\(tool) doctor` to compare the clocks"
        )
    }
}
