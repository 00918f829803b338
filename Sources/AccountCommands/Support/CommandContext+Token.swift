package import AccountKit

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

extension CommandContext {
    /// Returns an account with a valid access token, refreshing it first if needed. `token` prints this token, and the
    /// helpers pass it on.
    ///
    /// - Parameters:
    ///   - account: The account as it was read.
    ///   - minimumValidity: How long the token must still be valid; `nil` lets the store decide.
    ///   - other: The store of the account, if it is not the command's store.
    /// - Throws: An error with the reason why there is no token. Offline, the error is `serviceUnavailable`, and the
    ///   user stays signed in.
    package func withUsableToken(
        _ account: Account, minimumValidity: Duration? = nil, in other: AccountStore? = nil
    ) async throws -> Account {
        let now = SystemWallClock().now
        guard !account.isOver(at: now) else {
            throw expired(account)
        }
        // With `--issuer`, the authority is the account's own service. An app with a fixed service also checks that the
        // account belongs to it.
        if App.acceptsIssuer, account.issuer != nil, !account.credentials.isWithheld,
            account.credentials.isGood(for: minimumValidity, at: now)
        {
            return account
        }
        let authority = try authority(of: account)
        // Without a valid token, the command must wait.
        let isExpired = account.credentials.expires(within: .zero, of: now)
        let timeout: Duration? = isExpired ? nil : .seconds(5)
        let limit = timeout ?? authority.tokenRequestTimeout
        do {
            let usable = try await Waiting.shown(for: account.issuer ?? "the service", upTo: limit) {
                try await (other ?? store).usableAccount(
                    minimumValidity: minimumValidity, timeout: timeout, with: authority)
            }
            guard !usable.isOver(at: SystemWallClock().now) else { throw expired(usable) }
            if usable.credentials.accessToken == account.credentials.accessToken {
                await warnIfRenewalIsRefused(account, in: other)
            }
            if account.credentials.signInScopes.isEmpty { warnIfNarrowed(usable) }
            return usable
        } catch {
            await warnIfRenewalIsRefused(account, in: other)
            throw error
        }
    }

    /// Prints a warning and a solution on standard error if the service refuses to refresh the session.
    func warnIfRenewalIsRefused(_ account: Account, in store: AccountStore? = nil) async {
        guard let date = await (store ?? self.store).refusesRefreshSince() else { return }
        Terminal.say(StateText.refusal(of: account, since: date, hint))
    }

    /// Prints a warning on standard error if the session has lost scopes.
    func warnIfNarrowed(_ account: Account) {
        if let text = StateText.narrowed(account.credentials, hint) { Terminal.say(text) }
    }

    /// Prints a warning on standard error if a token expires sooner than the user requested.
    ///
    /// - Parameter seconds: The value of `--min-validity`; `nil` if the user did not pass it.
    package func warn(ifTokenUntil end: Date?, isShorterThan seconds: Double?) {
        guard let end, let seconds else { return }
        let left = end.timeIntervalSince(SystemWallClock().now)
        // Tolerate the transfer time of a token that was issued for exactly this time.
        guard left + 5 < seconds else { return }
        let asked = Int64(exactly: seconds).map(String.init) ?? "\(seconds)"
        Terminal.say(
            "\(tool): the token expires in \(Int64(left)) s, sooner than --min-validity \(asked): no other token is available"
        )
    }

    /// Returns an error for an access token that has expired and cannot be refreshed.
    func expired(_ account: Account) -> AccountError {
        if let move = account.move { return AccountError(.moved, StateText.text(move, hint)) }
        return AccountError(.notSignedIn, StateText.end(of: account, hint))
    }

    /// Returns the account of the session, for a program that cannot handle a state.
    ///
    /// - Throws: `notSignedIn` with a solution if there is no account; otherwise the reason why the archive is
    ///   unreadable.
    package func signedInAccount(in other: AccountStore? = nil) async throws -> Account {
        switch await (other ?? store).load() {
        case .verified(let account), .unverified(let account, _): return account
        case .signedOut(let signOut):
            throw AccountError(.notSignedIn, StateText.explanation(of: signOut, hint))
        case .unreadable(let error): throw error
        }
    }
}
