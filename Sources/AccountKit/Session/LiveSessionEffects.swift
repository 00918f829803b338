import AccountSupport
import Logging

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Performs the effects of a session flow. Create an instance for each flow, and end the instance of a refresh with
/// ``end()``.
final class LiveSessionEffects: SessionEffects {
    private let driver: SessionDriver
    private let authority: (any AccountAuthority)?

    private let deadline: ContinuousClock.Instant?

    private let progress: SingleFlight<SessionDriver.Request, RefreshOutcome>.Progress?

    /// The number of refreshes of these tokens that had failed before the flow waited for the lease.
    fileprivate let failureCount: Int

    private let lease: RenewableLease?
    private var exchange: (any PreparedExchange)?
    private var isExchanging = false

    init(
        _ driver: SessionDriver, authority: (any AccountAuthority)? = nil, lease: RenewableLease? = nil,
        deadline: ContinuousClock.Instant? = nil,
        progress: SingleFlight<SessionDriver.Request, RefreshOutcome>.Progress? = nil, failureCount: Int = 0
    ) {
        self.driver = driver
        self.authority = authority
        self.lease = lease
        self.deadline = deadline
        self.progress = progress
        self.failureCount = failureCount
    }

    func end() {
        exchange.take()?.abandon()
        if isExchanging { driver.exchanges.end() }
        isExchanging = false
    }

    private var service: any AccountAuthority {
        guard let authority else { preconditionFailure("a flow that asks a service has an authority") }
        return authority
    }

    // MARK: The archive

    func load() async -> ArchiveReader.Content { await driver.load() }

    func withTransaction<Value>(
        isBrief: Bool, _ body: (any SessionTransaction) async -> Value
    ) async throws(AccountError) -> Value {
        let timeout = isBrief ? driver.briefTimeout : driver.lockTimeout
        return try await driver.withTransaction(timeout: timeout, under: lease?.current) { transaction in
            await body(LiveTransaction(driver: driver, transaction: transaction, effects: self))
        }
    }

    func renewLease() async throws(AccountError) {
        guard let lease else { return }
        try await AccountError.wrappingErrors { try await lease.renew(timeout: driver.lockTimeout) }
    }

    func keepUnsaved(_ account: Account, inPlaceOf spent: Account, ifRevision revision: ArchiveRevision) async {
        driver.archive.unsaved.keep(account, inPlaceOf: spent, ifRevision: revision)
        driver.shared.publish(account, isSignIn: false)
    }

    // MARK: The service

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
        return identity
    }

    func refresh(_ account: Account) async -> RefreshOutcome {
        await driver.refresh(account, service, until: deadline)
    }

    func revoke(_ account: Account, _ pending: RevocationQueue.Pending?) async {
        _ = await driver.revoke(account, pending, at: service)
    }

    func prepareExchange(
        of account: Account, deriving derivation: Derivation?
    ) async throws(AuthorityError) -> UnverifiedReason? {
        if let reason = await driver.pauseOfAnother(failureCount: failureCount) {
            driver.logger?.debug("refresh postponed", metadata: ["reason": "\(reason.description.shown)"])
            return reason
        }
        driver.logger?.debug("refresh begun")
        exchange.take()?.abandon()
        progress?.begin()
        defer { progress?.wait() }
        let request = derivation?.request ?? .refresh
        var account = account
        // If the last refresh stored no tokens, the endpoint may have moved. In a shared storage, another machine must not
        // choose where this machine sends its client secret or assertion.
        if account.credentials.tokenEndpoint != nil {
            var isUnreliable = driver.archive.isShared
            if !isUnreliable { isUnreliable = await driver.archive.journal.readableRecord() != nil }
            if isUnreliable { account.credentials.tokenEndpoint = nil }
        }
        do {
            exchange = try await service.serviceAuthority.prepare(request, of: account)
            return nil
        } catch {
            throw converted(error)
        }
    }

    /// Sends the prepared request. A process that was suspended may have lost the lease, and another machine may have
    /// spent the refresh token, so this function first asks the storage about the lease. The process can also be
    /// suspended after the storage has answered. For this reason the function checks the lease by the clock immediately
    /// before it sends the first byte.
    func requestTokens(
        of account: Account, deriving derivation: Derivation?
    ) async throws(AuthorityError) -> Credentials {
        guard let exchange = exchange.take() else {
            preconditionFailure("a flow prepares an exchange before it sends it")
        }
        // A request that spends no refresh token needs no lease: a second request does no harm.
        let isSpending = derivation.map { $0.means == .refresh } ?? (account.credentials.machine == nil)
        let lease = isSpending ? lease?.current : nil
        let limit = service.tokenRequestTimeout
        guard await lease?.lasts(for: limit) != false else {
            exchange.abandon()
            throw .leaseLost
        }
        driver.logger?.debug("token request sent")
        do {
            return try await exchange.send { lease?.isHeld(for: limit) != false }
        } catch {
            throw converted(error)
        }
    }

    /// Converts an error. Logs an error of the app's authority, since `SessionDecision` treats it as an unclear
    /// response.
    private func converted(_ error: any Error) -> AuthorityError {
        if !(error is AuthorityError), !(error is CancellationError) {
            let text = "\(type(of: error)): \(error)".shown
            driver.logger?.debug("the app's authority failed", metadata: ["error": "\(text)"])
        }
        return AuthorityError(error)
    }

    /// Registers the exchange, so that it runs to its end even if its callers leave.
    fileprivate func commit() throws {
        // A refresh after a refused token for another API continues the same exchange.
        if isExchanging { return }
        driver.exchanges.begin(limit: service.tokenRequestTimeout)
        isExchanging = true
        // Commit after `begin`, so that a caller that leaves after the commit finds an exchange to wait for.
        if let progress, !progress.commit() { throw CancellationError() }
    }
}

private struct LiveTransaction: SessionTransaction {
    let driver: SessionDriver
    let transaction: any ArchiveTransaction
    let effects: LiveSessionEffects

    func load() async -> ArchiveReader.Content { await driver.load(transaction) }

    func prepareSave() async throws(AccountError) {
        try await step { try await driver.archive.prepareSave(in: transaction) }
    }

    func beginExchange(isSpending: Bool) async throws(AccountError) -> ExchangeStart {
        try await step {
            let record = try await driver.archive.journal.record(in: transaction)
            // If another refresh failed while this refresh waited for the lease, do not send another request at once.
            if let record, record.failureCount ?? 0 != effects.failureCount,
                let reason = driver.archive.pause(after: record, at: driver.clock.now)
            {
                return .paused(reason)
            }
            try effects.commit()
            guard isSpending else { return .begun(unfinished: record?.date) }
            driver.archive.unsaved.markSpending()
            return .begun(
                unfinished: try await driver.archive.journal.recordIntent(at: driver.clock.now, in: transaction))
        }
    }

    func recordFailure(_ reason: UnverifiedReason, mayBeSpent: Bool) async throws(AccountError) {
        try await step {
            try await driver.archive.journal.recordFailure(
                reason, mayBeSpent: mayBeSpent, at: driver.clock.now, in: transaction)
        }
    }

    func forgetRefreshRecord() async throws(AccountError) {
        try await step { try await driver.archive.journal.forget(in: transaction) }
    }

    func save(_ account: Account, ifRevision revision: ArchiveRevision) async throws(AccountError) -> Account {
        try await step { try await driver.save(account, revision, transaction) }
    }

    func queueRevocation(
        _ account: Account, isSignOut: Bool
    ) async throws(AccountError) -> RevocationQueue.Pending {
        try await step {
            let (queue, now) = (driver.revocations, driver.clock.now)
            if isSignOut { await queue.release(beside: account, at: now, in: transaction) }
            return try await queue.add(account, at: now, in: transaction)
        }
    }

    func withdrawRevocation(_ account: Account) async throws(AccountError) {
        try await step { try await driver.revocations.withdraw(account, in: transaction) }
    }

    func quarantine(_ signOut: SignOut) async throws(AccountError) -> String {
        try await step { try await driver.quarantine(signOut, transaction) }
    }

    func clear(_ signOut: SignOut, ifRevision revision: ArchiveRevision) async throws(AccountError) {
        try await step { try await driver.clear(signOut, revision, transaction) }
    }

    private func step<Value>(_ body: () async throws -> Value) async throws(AccountError) -> Value {
        do {
            return try await body()
        } catch {
            driver.logger?.debug("a step of the session failed", metadata: ["error": "\(error)"])
            throw AccountError(wrapping: error)
        }
    }
}
