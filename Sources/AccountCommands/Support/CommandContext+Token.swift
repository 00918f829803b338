package import AccountKit
package import AccountSupport

extension CommandContext {
    /// Returns an account with a valid access token, refreshing the token first if needed. If `minimumValidity` is
    /// `nil`, the store's default determines for how long the token must be valid. If the network is needed but
    /// unavailable, throws `serviceUnavailable`, and the user stays signed in.
    package func withUsableToken(
        _ account: Account, minimumValidity: Duration? = nil, in other: AccountStore? = nil
    ) async throws -> Account {
        let now = SystemWallClock().now
        guard !account.isOver(at: now) else { throw StateText.end(of: account, hint) }
        // If the app accepts `--issuer`, the authority is for the account's own service. An app with a fixed service
        // also checks that the account is from this service.
        if App.acceptsIssuer, account.issuer != nil, !account.credentials.isWithheld,
            account.credentials.isGood(for: minimumValidity, at: now)
        {
            return account
        }
        let authority = try authority(of: account)
        // Without a valid token, the command must wait.
        let isExpired = account.credentials.isExpired(at: now)
        let timeout: Duration? = isExpired ? nil : .seconds(5)
        let limit = timeout ?? authority.tokenRequestTimeout
        do {
            let usable = try await Waiting.shown(for: account.issuer ?? "the service", upTo: limit) {
                try await (other ?? store).usableAccount(
                    minimumValidity: minimumValidity, timeout: timeout, with: authority)
            }
            guard !usable.isOver(at: SystemWallClock().now) else { throw StateText.end(of: usable, hint) }
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

    func warnIfRenewalIsRefused(_ account: Account, in store: AccountStore? = nil) async {
        let store = store ?? self.store
        // Without a token, the error or the state says it.
        guard await store.renewalRefusal(of: account) == nil, let date = await store.refusesRefreshSince() else {
            return
        }
        Terminal.say(StateText.refusal(of: account, since: date, hint))
    }

    func warnIfNarrowed(_ account: Account) {
        if let text = StateText.narrowed(account.credentials, hint) { Terminal.say(text) }
    }

    /// Warns if a token expires sooner than requested. `seconds` is `nil` if the user did not pass `--min-validity`.
    package func warn(ifTokenUntil end: Date?, isShorterThan seconds: Double?) {
        guard let end, let seconds else { return }
        let left = end.timeIntervalSince(SystemWallClock().now)
        // Allow for the transfer time of a token whose lifetime is exactly the requested time.
        guard left + 5 < seconds else { return }
        let asked = Int64(exactly: seconds).map(String.init) ?? "\(seconds)"
        Terminal.say(
            "\(tool): the token expires in \(Int64(left)) s, sooner than --min-validity \(asked): no other token is available"
        )
    }

    /// Returns the account. Throws `notSignedIn` with a hint if no user is signed in, or the reason if the archive is
    /// unreadable.
    package func signedInAccount(in other: AccountStore? = nil) async throws -> Account {
        switch await (other ?? store).load() {
        case .verified(let account), .unverified(let account, _): return account
        case .signedOut(let signOut):
            throw StateText.error(of: signOut, hint)
        case .unreadable(let error): throw error
        }
    }
}
