import AccountKit

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension CommandContext {
    /// An account whose access token is good for a while, refreshed first if need be: what `token` prints and the helpers
    /// hand out.
    ///
    /// - Parameters:
    ///   - account: The account as it was read.
    ///   - minimumValidity: For how long the token should still be good; `nil` leaves that to the store.
    ///   - other: Where it was read, if not in the commands' own store.
    /// - Throws: An error that says why there is no token. Offline is `serviceUnavailable`, and nobody is signed out.
    func withUsableToken(
        _ account: Account, minimumValidity: Duration? = nil, in other: AccountStore? = nil
    ) async throws -> Account {
        let now = SystemWallClock().now
        guard !account.isOver(at: now) else {
            throw expired(account)
        }
        // Its own service is the authority's. An app that knows its service makes sure that it is the account's, too.
        if App.acceptsIssuer, account.issuer != nil, !account.credentials.isWithheld,
            account.credentials.isGood(for: minimumValidity, at: now)
        {
            return account
        }
        let authority = try authority(of: account)
        // Without a valid token there is no alternative to waiting.
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

    /// Says on standard error if the service refuses to renew the session, so that the user knows a way out.
    func warnIfRenewalIsRefused(_ account: Account, in store: AccountStore? = nil) async {
        guard let date = await (store ?? self.store).refusesRefreshSince() else { return }
        Terminal.say(StateText.refusal(of: account, since: date, hint))
    }

    /// Says on standard error if the session has lost scopes.
    func warnIfNarrowed(_ account: Account) {
        if let text = StateText.narrowed(account.credentials, hint) { Terminal.say(text) }
    }

    /// Says on standard error if a token lasts for less time than the user asked for.
    ///
    /// - Parameter seconds: The value of `--min-validity`; `nil` if the user did not give one.
    func warn(ifTokenUntil end: Date?, isShorterThan seconds: Double?) {
        guard let end, let seconds else { return }
        let left = end.timeIntervalSince(SystemWallClock().now)
        // A token that was issued for exactly this time has been on the way for a moment.
        guard left + 5 < seconds else { return }
        let asked = Int64(exactly: seconds).map(String.init) ?? "\(seconds)"
        Terminal.say(
            "\(tool): the token expires in \(Int64(left)) s, sooner than --min-validity \(asked) asks for: there is no other one now"
        )
    }

    /// The access token has expired, and nothing can renew it.
    func expired(_ account: Account) -> AccountError {
        if let move = account.move { return AccountError(.moved, StateText.text(move, hint)) }
        return AccountError(.notSignedIn, StateText.end(of: account, hint))
    }

    /// The account of the session, for a program that cannot be shown a state.
    ///
    /// - Throws: `notSignedIn` if there is none, with what to do; or why it cannot be read.
    func signedInAccount(in other: AccountStore? = nil) async throws -> Account {
        switch await (other ?? store).load() {
        case .verified(let account), .unverified(let account, _): return account
        case .signedOut(let signOut):
            throw AccountError(.notSignedIn, StateText.explanation(of: signOut, hint))
        case .unreadable(let error): throw error
        }
    }
}
