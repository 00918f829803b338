#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// Signing out, and telling the service.
extension AccountStore {
    /// Signs out: removes the account here at once, and tells the service then.
    ///
    /// If the service cannot be told, the tokens are kept, sealed, for
    /// ``deliverRevocations(with:ignoringPauses:isInteractive:)``. A disk that is full keeps nobody signed in, nor does an archive that does not
    /// open: it is moved aside, and the service cannot be told, since nobody can read the tokens.
    ///
    /// If machines share the storage, signing out of an archive that does not open fails instead; see
    /// ``replacingUnreadableArchive()``.
    ///
    /// Of a session that was moved to another place, only what was left here is removed, and the service is not told: it goes on
    /// there. Where nobody is signed in, a session whose move to here was not completed is discarded.
    ///
    /// - Parameter authority: The service; `nil` does not tell it.
    /// - Returns: Who was signed out, and whether the service knows.
    /// - Throws: An ``AccountError`` if the archive could not be changed; then nobody was signed out. Likewise
    ///   ``AccountError/Code-swift.struct/moved`` if the service is to be told and the move of the session was not completed.
    @discardableResult
    public func signOut(with authority: (any AccountAuthority)? = nil) async throws(AccountError) -> SignOutReport {
        let signOut = SignOut(.signedOutByUser, date: clock.now)
        let flow = SignOutFlow(
            signOut: signOut, revokesTokens: authority != nil, keepsUnreadable: driver.keepsUnreadable)
        switch try await flow.run(LiveSessionEffects(driver)).get() {
        case .nobody:
            try await discardIncoming()
            return SignOutReport(account: nil, revocation: .notNeeded)
        case .quarantined(let place):
            return SignOutReport(account: nil, revocation: .notNeeded, quarantinedArchive: place)
        case .account(let account, let pending):
            guard let authority, account.move == nil else {
                return SignOutReport(account: account, revocation: .notNeeded)
            }
            // Whoever is cancelled has signed out all the same; so the service is told.
            let report = await shielded { [driver] in await driver.revoke(account, pending, at: authority) }
            return SignOutReport(account: account, revocation: .init(report, isQueued: pending != nil))
        }
    }

    /// Asks the services to revoke what they could not be asked to revoke before: the tokens of sign-outs, and of sign-ins
    /// that were replaced.
    ///
    /// Worth doing whenever a service has just been reached. Costs nothing if there are none. A service that did not do it is
    /// left alone for a minute, then for longer and longer; one that refuses for good is asked three times.
    ///
    /// - Parameters:
    ///   - authority: The service of an account; `nil` leaves that one for later.
    ///   - ignoringPauses: Whether to ask also those that are to be left alone for a while.
    ///   - isInteractive: Whether a person may be asked for the passphrase that what was kept is sealed with.
    /// - Returns: What became of each that a service was asked to take.
    @discardableResult
    public func deliverRevocations(
        with authority: (Account) -> (any AccountAuthority)?, ignoringPauses: Bool = false, isInteractive: Bool = false
    ) async -> [RevocationReport] {
        guard let pending = try? await driver.revocations.pending(isInteractive: isInteractive), !pending.isEmpty else {
            return []
        }
        let addressed = pending.map { ($0, authority($0.account)) }
        guard let due = try? await dueRevocations(addressed, ignoringPauses: ignoringPauses) else { return [] }
        var reports: [RevocationReport] = []
        for (revocation, authority) in due {
            let report = await driver.revoke(revocation.account, revocation, at: authority)
            reports.append(report)
            // It answers to none of them.
            if case .noResponse(.cancelled)? = report.failure { break }
        }
        return reports
    }

    /// Returns the revocations that may be sent now, and removes those that are obsolete or too old.
    ///
    /// - The tokens are still those of the stored account: a process was killed while it signed the user out, or failed to
    ///   withdraw an entry. The entry is removed.
    /// - Revoking the tokens could end another sign-in: the entry stays until that user signs out.
    /// - 30 days have passed since the first attempt, or since the entry was queued if its service is unknown: the entry is
    ///   removed.
    private func dueRevocations(
        _ pending: [(RevocationQueue.Pending, (any AccountAuthority)?)], ignoringPauses: Bool
    ) async throws(AccountError) -> [(RevocationQueue.Pending, any AccountAuthority)] {
        // The lock excludes a sign-out that is under way.
        try await driver.withTransaction(timeout: min(driver.lockTimeout, .seconds(1))) { transaction in
            var due: [(RevocationQueue.Pending, any AccountAuthority)] = []
            let current: Account?
            switch await driver.archive.load(in: transaction) {
            case .present(let account, _): current = account
            case .absent: current = nil
            case .unreadable(let error): throw error
            }
            for (revocation, authority) in pending {
                // Another process may have delivered it.
                guard try await transaction.read(revocation.entry)?.revision == revocation.revision else { continue }
                let isSignedIn = current.map { $0.sharesTokens(with: revocation.account) } ?? false
                let endsCurrent =
                    current?.isEnded(
                        byRevoking: revocation.account,
                        supportsPerGrantRevocation: authority?.supportsPerGrantRevocation ?? false)
                    ?? false
                if !isSignedIn, endsCurrent || revocation.waitsForSignOut {
                    guard !revocation.waitsForSignOut else { continue }
                    var waiting = revocation
                    waiting.waitsForSignOut = true
                    try? await driver.revocations.update(waiting, at: clock.now, in: transaction)
                    continue
                }
                let isTried = authority == nil || revocation.attemptCount > 0
                let age = clock.now.timeIntervalSince(PendingRevocation(revocation).date)
                if isSignedIn || isTried && age > RevocationQueue.maximumAge {
                    // If the removal fails, the next delivery tries again.
                    _ = try? await transaction.remove(revocation.entry, ifRevision: revocation.revision)
                } else if let authority, ignoringPauses || revocation.isDue(at: clock.now) {
                    due.append((revocation, authority))
                }
            }
            return due
        }
    }

    package func pendingRevocations() async throws -> [PendingRevocation] {
        try await driver.revocations.pending().map(PendingRevocation.init)
    }
}

package struct PendingRevocation: Sendable, Hashable {
    package let issuer: String?

    /// When the user signed out, or signed in again, or when the first attempt to revoke the tokens failed.
    package let date: Date

    /// Whether the tokens are revoked only when the user signs out, since that may end the user's later sign-in too.
    package let waitsForSignOut: Bool

    init(_ pending: RevocationQueue.Pending) {
        issuer = pending.account.issuer
        date = pending.account.verifiedAt ?? .distantPast
        waitsForSignOut = pending.waitsForSignOut
    }
}

/// What became of a request to revoke tokens.
public struct RevocationReport: Sendable, Hashable {
    /// The service.
    public let issuer: String?

    /// What became of it.
    public let outcome: RevocationOutcome

    /// What the service answered, or why it did not; `nil` if it did what was asked.
    public let failure: AuthorityError?

    /// Whether the service has refused so often that it is not asked again.
    public internal(set) var isGivenUp = false

    init(_ outcome: RevocationOutcome, of account: Account, _ failure: AuthorityError? = nil) {
        issuer = account.issuer
        self.outcome = outcome
        self.failure = failure
    }
}

/// Who was signed out, and whether the service knows.
public struct SignOutReport: Sendable {
    /// Whether the service was told.
    public enum Revocation: Sendable, Hashable {
        /// There was nobody to sign out, or the service was not to be told.
        case notNeeded
        /// The service has revoked the tokens, or never knew them.
        case done
        /// The service could not be told yet, and will be: see
        /// ``AccountStore/deliverRevocations(with:ignoringPauses:isInteractive:)``.
        case queued(AuthorityError)
        /// The service said that it does not do this.
        case refused(AuthorityError)
        /// The service has no way to revoke tokens: they are good until they expire.
        case notSupported
        /// The service could not be told, and nothing could be written down to tell it later, for instance since the disk
        /// is full: the tokens are good until they expire.
        case lost(AuthorityError)

        init(_ report: RevocationReport, isQueued: Bool) {
            let failure = report.failure ?? .unclear("no reason was given")
            switch report.outcome {
            case .done: self = .done
            case .notSupported: self = .notSupported
            case .refused: self = .refused(failure)
            case .queued: self = isQueued ? .queued(failure) : .lost(failure)
            }
        }
    }

    /// Who was signed out; `nil` if nobody was signed in, or nobody knows who it was.
    public let account: Account?

    /// Whether the service was told.
    public let revocation: Revocation

    /// Where an archive that did not open was moved; `nil` if it did open, or there was none.
    public let quarantinedArchive: String?

    init(account: Account?, revocation: Revocation, quarantinedArchive: String? = nil) {
        self.account = account
        self.revocation = revocation
        self.quarantinedArchive = quarantinedArchive
    }
}
