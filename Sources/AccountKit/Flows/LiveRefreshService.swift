import AccountSupport
import Logging

/// Sends the requests of a refresh to a service. Create an instance for each refresh, and end it with ``end()``.
final class LiveRefreshService: RefreshService {
    private let service: any AccountAuthority
    private let flows: Flows
    private let lease: VaultLease
    private let progress: SingleFlight<Flows.Request, RefreshOutcome>.Progress
    private var exchange: (any PreparedExchange)?
    private var isExchanging = false

    init(
        _ service: any AccountAuthority, _ flows: Flows, under lease: VaultLease,
        _ progress: SingleFlight<Flows.Request, RefreshOutcome>.Progress
    ) {
        self.service = service
        self.flows = flows
        self.lease = lease
        self.progress = progress
    }

    private var vault: Vault { flows.vault }

    func end() {
        exchange.take()?.abandon()
        if isExchanging { flows.exchanges.end() }
        isExchanging = false
    }

    func revoke(_ account: Account, _ pending: RevocationQueue.Record?) async {
        _ = await flows.revoke(account, pending, at: service)
    }

    func prepareExchange(
        _ grant: RefreshGrant, of account: Account, after failureCount: Int
    ) async throws(AuthorityError) -> UnverifiedReason? {
        if let reason = await vault.pauseOfAnother(failureCount: failureCount) {
            vault.logger?.debug("refresh postponed", metadata: ["reason": "\(reason.description.shown)"])
            return reason
        }
        vault.logger?.debug("refresh begun")
        exchange.take()?.abandon()
        progress.begin()
        defer { progress.wait() }
        var account = account
        // If the last refresh stored no tokens, the endpoint may have moved. In a shared storage, another machine must not
        // choose where this machine sends its client secret or assertion.
        if account.credentials.tokenEndpoint != nil {
            var isUnreliable = vault.isShared
            if !isUnreliable { isUnreliable = await vault.readableRefreshRecord() != nil }
            if isUnreliable { account.credentials.tokenEndpoint = nil }
        }
        do {
            exchange = try await service.serviceAuthority.prepare(grant.request, of: account)
            return nil
        } catch {
            throw flows.converted(error)
        }
    }

    /// Sends the prepared request if the lease permits it.
    func requestTokens(_ grant: RefreshGrant, of account: Account) async throws(AuthorityError) -> Credentials {
        guard let exchange = exchange.take() else {
            preconditionFailure("a flow prepares an exchange before it sends it")
        }
        // A request that spends no refresh token needs no lease: a second request does no harm.
        let permit: (@Sendable () -> Bool)? =
            if grant.spendsRefreshToken {
                await lease.permit(for: service.tokenRequestTimeout)
            } else {
                { true }
            }
        guard let permit else {
            exchange.abandon()
            throw .leaseLost
        }
        vault.logger?.debug("token request sent")
        do {
            return try await exchange.send(if: permit)
        } catch {
            throw flows.converted(error)
        }
    }

    func commitExchange() throws {
        // A refresh after a refused token for another API continues the same exchange.
        if isExchanging { return }
        flows.exchanges.begin(limit: service.tokenRequestTimeout)
        isExchanging = true
        // Commit after `begin`, so that a caller that leaves after the commit finds an exchange to wait for.
        if !progress.commit() { throw CancellationError() }
    }
}
