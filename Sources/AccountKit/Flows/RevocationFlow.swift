package import AccountSupport
import Logging
import Synchronization

extension Flows {
    /// Asks the service to revoke tokens, and then removes the entry from the queue or records the failure in the
    /// entry. If the revocation would end the stored sign-in, this function sends nothing, and the entry stays until
    /// that user signs out.
    func revoke(
        _ account: Account, _ pending: RevocationQueue.Record?, at authority: any AccountAuthority
    ) async -> RevocationReport {
        var report: RevocationReport
        do {
            guard try await mayBeRevoked(account, authority) else {
                let reason = AuthorityError.unclear("the revocation would end the session that is signed in")
                return RevocationReport(pending == nil ? .notSupported : .queued(reason), of: account)
            }
            guard authority.isAuthority(of: account) else {
                throw AuthorityError.misconfigured("the tokens belong to another service")
            }
            report = RevocationReport(try await authority.revoke(account), of: account)
        } catch let error as AccountError {
            // Do not send the revocation while it is unknown whether it would end the stored sign-in.
            report = RevocationReport(.queued(.unclear(error.userText)), of: account)
        } catch {
            let failure = AuthorityError(error)
            let isTriedLater = SessionDecision.afterRevocation(failure) == .tryLater
            report = RevocationReport(isTriedLater ? .queued(failure) : .refused(failure), of: account)
        }
        guard var pending else { return report }
        let isRefusal = if case .refused = report.outcome { true } else { false }
        report.isFirstRefusal = isRefusal && pending.payload.refusalCount == 0
        if report.outcome.failure != nil { pending.payload.fail(isRefusal: isRefusal, at: vault.clock.now) }
        let isGivenUp = pending.payload.refusalCount >= QueuedRevocation.maximumRefusalCount
        // After a failure, either another process has already changed the entry, or the service will accept the next delivery
        // as done (RFC 7009, section 2.2).
        await vault.attempt(orLog: "the queue of revocations could not be changed", .debug) {
            try await vault.change(timeout: vault.briefTimeout) { draft in
                if report.outcome.failure == nil || isGivenUp {
                    try await draft.revocations.remove(pending)
                } else {
                    try await draft.revocations.update(pending)
                }
            }
        }
        return report
    }

    private func mayBeRevoked(_ account: Account, _ authority: any AccountAuthority) async throws -> Bool {
        try await vault.change(timeout: vault.briefTimeout) { draft in
            guard let stored = try await draft.account() else { return true }
            return !stored.isEnded(
                byRevoking: account, supportsPerGrantRevocation: authority.supportsPerGrantRevocation)
        }
    }

    // MARK: Delivering the queue

    /// Revokes the due tokens of the queue at a service that has just responded for `account`, in the background. Tokens of
    /// another client stay in the queue. ``AccountStore/finishPendingRequests()`` waits for the end.
    ///
    /// After a failed attempt there is a pause of one minute, which doubles each time, up to a day. If a service refuses
    /// three times, AccountKit does not ask that service again for these tokens.
    func deliverDue(after account: Account, at authority: any AccountAuthority) {
        guard deliversRevocations, ThreadSupply.isSufficient else { return }
        // A later sign-out sends its own tokens.
        let now = vault.clock.now
        deliveries.begin {
            let mine = await vault.revocations.readable().filter {
                authority.isAuthority(of: $0.payload.account) && $0.payload.account.usesSameClient(as: account)
                    && $0.payload.date <= now
            }
            await deliver(mine.map { ($0, authority) })
        }
    }

    /// Revokes queued tokens at their services; `nil` if the service of the tokens is unknown.
    @discardableResult
    func deliver(
        _ pending: [(RevocationQueue.Record, (any AccountAuthority)?)], ignoringPauses: Bool = false
    ) async -> [RevocationReport] {
        guard !pending.isEmpty else { return [] }
        guard let due = try? await dueRevocations(pending, ignoringPauses: ignoringPauses) else { return [] }
        var reports: [RevocationReport] = []
        // Each further request to a service that does not respond would wait for its timeout.
        var silent: Set<String?> = []
        for (revocation, authority) in due where !silent.contains(revocation.payload.account.issuer) {
            let report = await revoke(revocation.payload.account, revocation, at: authority)
            reports.append(report)
            guard case .noResponse(let failure)? = report.outcome.failure else { continue }
            // The task is cancelled, so every further request would fail.
            if failure ~= .cancelled { break }
            silent.insert(report.issuer)
        }
        return reports
    }

    /// Returns the revocations that may be sent now, and removes obsolete and expired revocations.
    ///
    /// - If the tokens are still the tokens of the stored account, the entry is removed: a process was killed during
    ///   the sign-out, or failed to withdraw the entry.
    /// - If revoking the tokens could end another sign-in, the entry stays until that user signs out.
    /// - The entry is removed 30 days after the first attempt, or after it was queued if its service is unknown.
    private func dueRevocations(
        _ pending: [(RevocationQueue.Record, (any AccountAuthority)?)], ignoringPauses: Bool
    ) async throws(AccountError) -> [(RevocationQueue.Record, any AccountAuthority)] {
        // The lock excludes a sign-out in progress.
        try await vault.change(timeout: vault.briefTimeout) { draft in
            var due: [(RevocationQueue.Record, any AccountAuthority)] = []
            let current = try await draft.account()
            for (revocation, authority) in pending {
                let queued = revocation.payload
                guard try await draft.revocations.stored(revocation.entry)?.revision == revocation.revision else {
                    continue
                }
                let isSignedIn = current.map { $0.sharesTokens(with: queued.account) } ?? false
                let endsCurrent =
                    current?.isEnded(
                        byRevoking: queued.account,
                        supportsPerGrantRevocation: authority?.supportsPerGrantRevocation ?? false)
                    ?? false
                // Without its secret, the tokens of a client can only expire.
                let isOver = authority == nil && queued.account.credentials.areOver(at: vault.clock.now)
                if !isSignedIn, !isOver, endsCurrent || queued.waitsForSignOut {
                    guard !queued.waitsForSignOut else { continue }
                    var waiting = revocation
                    waiting.payload.waitsForSignOut = true
                    try? await draft.revocations.update(waiting)
                    continue
                }
                let isTried = authority == nil || queued.attemptCount > 0
                let age = vault.clock.now.timeIntervalSince(queued.date)
                if isSignedIn || isOver || isTried && age > QueuedRevocation.maximumAge {
                    // If the removal fails, the next delivery removes the entry.
                    try? await draft.revocations.remove(revocation)
                } else if let authority, ignoringPauses || queued.isDue(at: vault.clock.now) {
                    due.append((revocation, authority))
                }
            }
            return due
        }
    }
}

/// The delivery of queued revocations in the background, one at a time, and never during a sign-in: at a service that
/// ends all grants of a user at once, the revocation could also end the grant that the sign-in obtains.
final class Deliveries: Sendable {
    private struct State {
        var task: Task<Void, Never>?

        /// The delivery to run next.
        var next: (@Sendable () async -> Void)?
        var signInCount = 0
    }

    private let state = Mutex(State())

    /// Runs `body` after the delivery and the sign-ins in progress. Replaces a delivery that has not begun, whose entries
    /// stay in the queue.
    func begin(_ body: @escaping @Sendable () async -> Void) {
        state.withLock { state in
            state.next = body
            start(&state)
        }
    }

    /// Runs a sign-in after the delivery in progress. Later deliveries wait for its end.
    func whileSigningIn<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        let task = state.withLock { state in
            state.signInCount += 1
            return state.task
        }
        defer {
            state.withLock { state in
                state.signInCount -= 1
                start(&state)
            }
        }
        await task?.value
        return try await body()
    }

    /// Waits until no delivery is in progress.
    func finish() async {
        while let task = state.withLock(\.task) { await task.value }
    }

    private func start(_ state: inout State) {
        guard state.task == nil, state.signInCount == 0, let body = state.next else { return }
        state.next = nil
        state.task = Task {
            await body()
            self.state.withLock { state in
                state.task = nil
                self.start(&state)
            }
        }
    }
}

extension Credentials {
    /// Returns whether the tokens of a client without a user have all expired, according to the local clock.
    fileprivate func areOver(at date: Date) -> Bool {
        guard machine != nil else { return false }
        return isExpired(at: date)
            && derivedTokens.allSatisfy { $0.credentials.isExpired(at: date) }
    }
}

package struct PendingRevocation: Sendable, Hashable {
    package let issuer: String?

    /// The date when the user signed out or signed in again, or when the first attempt to revoke the tokens failed.
    package let date: Date

    /// Whether the tokens stay in the queue until the user signs out, because revoking them may also end the user's
    /// later sign-in.
    package let waitsForSignOut: Bool

    init(_ queued: QueuedRevocation) {
        issuer = queued.account.issuer
        date = queued.date
        waitsForSignOut = queued.waitsForSignOut
    }
}

/// The result of a request to revoke tokens.
package struct RevocationReport: Sendable, Hashable {
    package let issuer: String?

    package let outcome: RevocationOutcome

    /// Whether the service refused to revoke queued tokens that it had not refused before.
    package internal(set) var isFirstRefusal = false

    init(_ outcome: RevocationOutcome, of account: Account) {
        issuer = account.issuer
        self.outcome = outcome
    }
}
