import AccountSupport
import Logging

/// Sends the requests of a flow to a service. Create an instance for each flow, and end the instance of a refresh with
/// ``end()``.
final class LiveService: FlowService {
    private let flows: Flows
    private let service: any AccountAuthority

    private let deadline: ContinuousClock.Instant?

    private let progress: SingleFlight<Flows.Request, RefreshOutcome>.Progress?

    private let lease: VaultLease?
    private var exchange: (any PreparedExchange)?

    /// The account about which the service has responded to a check.
    private(set) var confirmed: Account?

    private var isExchanging = false

    init(
        _ service: any AccountAuthority, _ flows: Flows, under lease: VaultLease? = nil,
        deadline: ContinuousClock.Instant? = nil,
        progress: SingleFlight<Flows.Request, RefreshOutcome>.Progress? = nil
    ) {
        self.service = service
        self.flows = flows
        self.lease = lease
        self.deadline = deadline
        self.progress = progress
    }

    private var vault: Vault { flows.vault }

    func end() {
        exchange.take()?.abandon()
        if isExchanging { flows.exchanges.end() }
        isExchanging = false
    }

    func verify(_ account: Account) async throws(AuthorityError) -> Identity {
        // Without threads, the tasks below would wait forever.
        guard ThreadSupply.isSufficient else { throw .noThread }
        let identity: Identity?
        do {
            identity = try await withDeadline(deadline) { [service] in try await service.verify(account) }
        } catch {
            throw converted(error)
        }
        guard let identity else { throw .noResponse(.timeout) }
        confirmed = account
        return identity
    }

    func refresh(_ account: Account) async -> RefreshOutcome {
        await flows.refresh(account, service, until: deadline)
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
        progress?.begin()
        defer { progress?.wait() }
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
            throw converted(error)
        }
    }

    /// Sends the prepared request if the lease permits it.
    func requestTokens(_ grant: RefreshGrant, of account: Account) async throws(AuthorityError) -> Credentials {
        guard let exchange = exchange.take() else {
            preconditionFailure("a flow prepares an exchange before it sends it")
        }
        // A request that spends no refresh token needs no lease: a second request does no harm.
        let permit: (@Sendable () -> Bool)? =
            if grant.spendsRefreshToken, let lease {
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
            throw converted(error)
        }
    }

    /// Converts an error. Logs an error of the app's authority, since `SessionDecision` treats it as an unclear
    /// response.
    private func converted(_ error: any Error) -> AuthorityError {
        if !(error is AuthorityError), !(error is CancellationError) {
            let text = "\(type(of: error)): \(error)".shown
            vault.logger?.debug("the app's authority failed", metadata: ["error": "\(text)"])
        }
        return AuthorityError(error)
    }

    func commitExchange() throws {
        // A refresh after a refused token for another API continues the same exchange.
        if isExchanging { return }
        flows.exchanges.begin(limit: service.tokenRequestTimeout)
        isExchanging = true
        // Commit after `begin`, so that a caller that leaves after the commit finds an exchange to wait for.
        if let progress, !progress.commit() { throw CancellationError() }
    }
}
