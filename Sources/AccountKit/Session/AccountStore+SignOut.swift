import AccountSupport

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

extension AccountStore {
    /// Signs the user out: removes the account, and then revokes its tokens at the service.
    ///
    /// If the service is unreachable, the function queues the encrypted tokens for ``deliverRevocations(with:)``. A
    /// full disk does not prevent a sign-out. If the archive cannot be opened, the function moves the archive aside, and
    /// cannot revoke its tokens. If several machines share the storage, the sign-out then fails instead.
    ///
    /// - Parameter authority: The service; if `nil`, no tokens are revoked.
    /// - Returns: The account that was signed out, and whether its tokens were revoked.
    /// - Throws: An ``AccountError`` if the archive could not be changed. In this case, the user is still signed in.
    @discardableResult
    public func signOut(with authority: (any AccountAuthority)? = nil) async throws(AccountError) -> SignOutReport {
        let signOut = SignOut(.signedOutByUser, date: clock.now)
        let flow = SignOutFlow(
            signOut: signOut, revokesTokens: authority != nil, keepsUnreadable: flows.keepsUnreadable)
        switch try await flow.run(vault).get() {
        case .nobody:
            return SignOutReport(account: nil, revocation: .notNeeded)
        case .quarantined(let place):
            return SignOutReport(account: nil, revocation: .notNeeded, quarantinedArchive: place)
        case .account(let account, let pending):
            guard let authority else { return SignOutReport(account: account, revocation: .notNeeded) }
            // The user is signed out even if the task is cancelled, so revoke the tokens in that case too.
            let report: RevocationReport
            if ThreadSupply.isSufficient {
                report = await shielded { [flows] in await flows.revoke(account, pending, at: authority) }
            } else {
                report = RevocationReport(.queued(.noThread), of: account)
            }
            return SignOutReport(account: account, revocation: report.outcome.ifQueued(pending != nil))
        }
    }

    /// Revokes queued tokens: tokens of sign-outs that did not reach the service, and tokens of replaced sign-ins.
    ///
    /// Call this function after a successful request to a service. If the queue is empty, the call sends no request.
    /// After a failed attempt there is a pause of one minute, which doubles each time, up to a day. If a service
    /// refuses three times, AccountKit does not ask that service again for these tokens.
    ///
    /// - Parameter authority: A function that returns the service of an account. If it returns `nil`, the tokens of the
    ///   account stay in the queue.
    public func deliverRevocations(with authority: (Account) -> (any AccountAuthority)?) async {
        await deliverRevocations(with: authority, ignoringPauses: false)
    }

    /// Revokes queued tokens. If `ignoringPauses` is `true`, this includes tokens whose pause has not ended.
    ///
    /// - Parameter isInteractive: Whether to prompt for the passphrase of the queued tokens.
    /// - Returns: The result of each attempt.
    @discardableResult
    package func deliverRevocations(
        with authority: (Account) -> (any AccountAuthority)?, ignoringPauses: Bool = false, isInteractive: Bool = false
    ) async -> [RevocationReport] {
        let pending = await vault.revocations.pending(isInteractive: isInteractive)
        guard !pending.isEmpty else { return [] }
        let addressed = pending.map { ($0, authority($0.payload.account)) }
        guard let due = try? await dueRevocations(addressed, ignoringPauses: ignoringPauses) else { return [] }
        var reports: [RevocationReport] = []
        for (revocation, authority) in due {
            let report = await flows.revoke(revocation.payload.account, revocation, at: authority)
            reports.append(report)
            // The task is cancelled, so every further request would fail.
            if case .noResponse(.cancelled)? = report.outcome.failure { break }
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
        _ pending: [(RevocationQueue.Pending, (any AccountAuthority)?)], ignoringPauses: Bool
    ) async throws(AccountError) -> [(RevocationQueue.Pending, any AccountAuthority)] {
        // The lock excludes a sign-out in progress.
        try await vault.change(timeout: vault.briefTimeout) { draft in
            var due: [(RevocationQueue.Pending, any AccountAuthority)] = []
            let current = try await draft.account()
            for (revocation, authority) in pending {
                let queued = revocation.payload
                guard try await draft.transaction.read(revocation.entry)?.revision == revocation.revision else {
                    continue
                }
                let isSignedIn = current.map { $0.sharesTokens(with: queued.account) } ?? false
                let endsCurrent =
                    current?.isEnded(
                        byRevoking: queued.account,
                        supportsPerGrantRevocation: authority?.supportsPerGrantRevocation ?? false)
                    ?? false
                // Without its secret, the tokens of a client can only expire.
                let isOver = authority == nil && queued.account.credentials.areOver(at: clock.now)
                if !isSignedIn, !isOver, endsCurrent || queued.waitsForSignOut {
                    guard !queued.waitsForSignOut else { continue }
                    var waiting = revocation
                    waiting.payload.waitsForSignOut = true
                    try? await vault.revocations.update(waiting, at: clock.now, in: draft.transaction)
                    continue
                }
                let isTried = authority == nil || queued.attemptCount > 0
                let age = clock.now.timeIntervalSince(queued.date)
                if isSignedIn || isOver || isTried && age > RevocationQueue.maximumAge {
                    // If the removal fails, the next delivery removes the entry.
                    _ = try? await draft.transaction.remove(revocation.entry, ifRevision: revocation.revision)
                } else if let authority, ignoringPauses || queued.isDue(at: clock.now) {
                    due.append((revocation, authority))
                }
            }
            return due
        }
    }

    package func pendingRevocations() async throws -> [PendingRevocation] {
        await vault.revocations.pending().map { PendingRevocation($0.payload) }
    }

    /// Returns whether the stored account or a queued revocation uses the client of another account. If the archive
    /// or an entry cannot be opened, returns `true`.
    package func usesClient(of other: Account) async throws -> Bool {
        // Read the queue last: a sign-out queues its revocation before it removes the account.
        switch await load() {
        case .verified(let account), .unverified(let account, _):
            if account.usesSameClient(as: other) { return true }
        case .unreadable: return true
        case .signedOut: break
        }
        return try await vault.revocations.needsClient(of: other)
    }
}

extension Credentials {
    /// Returns whether the tokens of a client without a user have all expired, according to the local clock.
    fileprivate func areOver(at date: Date) -> Bool {
        guard machine != nil else { return false }
        return expires(within: .zero, of: date)
            && derivedTokens.allSatisfy { $0.credentials.expires(within: .zero, of: date) }
    }
}

extension Account {
    func usesSameClient(as other: Account) -> Bool {
        issuer == other.issuer && credentials.clientID == other.credentials.clientID
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

    /// Whether the service has refused so often that AccountKit does not ask it again.
    package internal(set) var isGivenUp = false

    init(_ outcome: RevocationOutcome, of account: Account) {
        issuer = account.issuer
        self.outcome = outcome
    }
}

/// The result of a sign-out.
public struct SignOutReport: Sendable {
    /// The account that was signed out; `nil` if no user was signed in, or if the archive could not be opened.
    public let account: Account?

    /// Whether the tokens were revoked.
    public let revocation: RevocationOutcome

    /// The new name of an archive that could not be opened; `nil` if the archive opened, or if there was no archive.
    package let quarantinedArchive: String?

    init(account: Account?, revocation: RevocationOutcome, quarantinedArchive: String? = nil) {
        self.account = account
        self.revocation = revocation
        self.quarantinedArchive = quarantinedArchive
    }
}
