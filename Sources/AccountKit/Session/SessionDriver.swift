import Logging

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct SessionDriver: Sendable {
    let archive: AccountArchive
    let revocations: RevocationQueue
    let offlineKeys: OfflineKeys
    let keptProfiles: KeptProfiles
    let shared: SharedAccount
    let refreshes: SingleFlight<Request, RefreshOutcome>
    let exchanges: Exchanges
    let clock: any WallClock
    let lockTimeout: Duration
    let logger: Logger?

    let ownFailures = OwnFailures()
    let refusedReplacement = RefusedReplacement()

    /// Whether AccountKit may replace or remove an archive that cannot be opened, even on storage that several machines
    /// share.
    var replacesUnreadable = false

    /// Whether an archive that cannot be opened stays in place, because another machine may have its key.
    var keepsUnreadable: Bool { archive.isShared && !replacesUnreadable }

    /// The key of a refresh. Tasks with the same key share one refresh.
    struct Request: Sendable {
        let account: Account

        let derivation: Derivation?

        static func isSame(_ left: Request, _ right: Request) -> Bool {
            left.account.isSameGrant(as: right.account) && left.derivation?.target == right.derivation?.target
        }
    }

    /// The time to wait for the lock if the work can also be done later.
    var briefTimeout: Duration { min(lockTimeout, .seconds(1)) }

    // MARK: The archive

    func load(_ transaction: (any ArchiveTransaction)? = nil) async -> ArchiveReader.Content {
        while true {
            let changeCount = shared.changeCount
            let content =
                if let transaction { await archive.load(in: transaction) } else { await archive.load() }
            // An account was published during the read, and may be older or newer than the result: read again.
            guard shared.publish(content, readSince: changeCount) else { continue }
            guard archive.unsaved.mayHaveOrphans(beside: content) else {
                if transaction == nil, content.account != nil, archive.unsaved.isTimeToSave(at: clock.now) {
                    await saveUnsaved(timeout: .zero)
                }
                return content
            }
            if let transaction {
                await queueOrphans(beside: content, in: transaction)
                return content
            }
            // Only under the lock is it certain that the session of these tokens has ended. If the lock is busy, the
            // next read tries again.
            _ = try? await withTransaction(timeout: briefTimeout) { await load($0) }
            return content
        }
    }

    /// Saves the unsaved tokens under the lease. Without the lease, a process that refreshes the stored tokens at the
    /// same time would find these tokens instead, revoke its own new tokens, and so end this session. If `timeout` is
    /// above zero, the process may be about to end, so this function saves the tokens even if it cannot acquire the
    /// lease.
    func saveUnsaved(timeout: Duration) async {
        do {
            try await archive.storage.withRefreshLease(timeout: timeout) { lease in
                await saveUnsaved(timeout: timeout, under: lease)
            }
        } catch {
            if timeout > .zero { await saveUnsaved(timeout: timeout, under: nil) }
        }
    }

    /// Saves the unsaved tokens. If this fails, the next read tries again.
    private func saveUnsaved(timeout: Duration, under lease: (any ArchiveLease)?) async {
        try? await withTransaction(timeout: timeout, under: lease) { transaction in
            // The result contains the unsaved tokens instead of the stored tokens, unless another process has ended
            // their session.
            guard case .present(let account, let revision) = await load(transaction),
                archive.unsaved.storedAccount != nil
            else { return }
            _ = try await save(account, revision, transaction)
        }
    }

    /// Queues unsaved tokens for revocation if another process, which did not have these tokens, has ended their
    /// session.
    private func queueOrphans(
        beside content: ArchiveReader.Content, in transaction: any ArchiveTransaction
    ) async {
        for orphan in archive.unsaved.takeOrphans() {
            // Some services accept a spent token for a while, so another process may also have refreshed the stored
            // tokens. These tokens may belong to the same grant as the orphan, even if the service revokes single
            // grants.
            if let stored = content.account, stored.isEnded(byRevoking: orphan, supportsPerGrantRevocation: false) {
                continue
            }
            do {
                try await revocations.add(orphan, at: clock.now, in: transaction)
            } catch {
                logger?.debug("tokens could not be queued for revocation", metadata: ["error": "\(error)"])
                archive.unsaved.keepOrphan(orphan)
            }
        }
    }

    func withTransaction<Value>(
        timeout: Duration? = nil, under lease: (any ArchiveLease)? = nil,
        _ body: (any ArchiveTransaction) async throws -> Value
    ) async throws(AccountError) -> Value {
        let timeout = timeout ?? lockTimeout
        do {
            if let lease { return try await lease.withTransaction(timeout: timeout, body) }
            // Ask for a passphrase before acquiring the lock, so that other processes do not wait for the user.
            await archive.askBeforeLock()
            return try await archive.storage.withTransaction(timeout: timeout, body)
        } catch {
            logger?.debug("a change of the archive failed", metadata: ["error": "\(error)"])
            throw AccountError(wrapping: error)
        }
    }

    func save(
        _ account: Account, _ revision: ArchiveRevision?, isSignIn: Bool = false, _ transaction: any ArchiveTransaction
    ) async throws -> Account {
        // A process that was killed during a sign-out may have queued the tokens that were spent for the unsaved
        // tokens.
        if !isSignIn, let spent = archive.unsaved.storedAccount {
            try? await revocations.withdraw(spent, in: transaction)
        }
        let (saved, receipt) = try await write(account, revision, isSignIn: isSignIn, transaction)
        if isSignIn {
            await archive.forgetLastSession(in: transaction)
            // A profile that is not removed does no harm.
            try? await keptProfiles.remove(of: saved, in: transaction)
            do {
                try await offlineKeys.removeMarked(in: transaction)
            } catch {
                logger?.warning(
                    "the offline data of a signed-out user could not be removed", metadata: ["error": "\(error)"])
            }
        }
        shared.publish(saved, isSignIn: isSignIn)
        report(receipt.durability)
        await queueOrphans(beside: .present(saved, receipt.revision), in: transaction)
        return saved
    }

    /// Writes the account. If the archive has no room for all profile fields, a sign-in removes some of them, since the
    /// service can send these fields again.
    private func write(
        _ account: Account, _ revision: ArchiveRevision?, isSignIn: Bool, _ transaction: any ArchiveTransaction
    ) async throws -> (account: Account, receipt: ArchiveReceipt) {
        var account = account
        while true {
            do {
                return try await archive.save(
                    account, ifRevision: revision, at: clock.now, leavesRoom: isSignIn, in: transaction)
            } catch let error as AccountError where error.code == .tooLarge && isSignIn && account.makeRoom() {
                logger?.warning("the archive has no room for all data of the account", metadata: ["error": "\(error)"])
            }
        }
    }

    /// Removes the account. If the user signs out, this function also removes the key of the offline data and the profile.
    /// If the service has ended the session, both stay for the user's next sign-in.
    func clear(
        _ signOut: SignOut, _ revision: ArchiveRevision, _ transaction: any ArchiveTransaction
    ) async throws {
        let durability = try await remove(signOut, revision, transaction)
        shared.publish(signOut)
        report(durability)
        await queueOrphans(beside: .absent(signOut), in: transaction)
    }

    private func remove(
        _ signOut: SignOut, _ revision: ArchiveRevision, _ transaction: any ArchiveTransaction
    ) async throws -> ArchiveReceipt.Durability {
        let content = await archive.load(in: transaction)
        guard signOut.reason == .signedOutByUser, let user = content.account else {
            guard let user = content.account, await !keepProfile(of: user, in: transaction) else {
                return try await archive.clear(signOut, ifRevision: revision, in: transaction)
            }
            // On a full disk, the removed account makes room for its profile.
            let durability = try await archive.clear(signOut, ifRevision: revision, in: transaction)
            await keepProfile(of: user, in: transaction)
            return durability
        }
        // In this order, a crash neither loses data of a signed-in user, nor leaves a usable key of a signed-out user.
        // A full disk does not prevent the sign-out.
        do {
            try await offlineKeys.markForRemoval(of: user, at: clock.now, in: transaction)
        } catch {
            logger?.debug("the key of the offline data could not be marked", metadata: ["error": "\(error)"])
        }
        // A profile of an earlier session, which a crash has left.
        try? await keptProfiles.remove(of: user, in: transaction)
        let durability = try await archive.clear(signOut, ifRevision: revision, in: transaction)
        do {
            try await offlineKeys.remove(of: user, in: transaction)
        } catch {
            logger?.error("the key of the offline data could not be removed", metadata: ["error": "\(error)"])
        }
        return durability
    }

    /// Stores the profile of a user who did not sign out, and returns whether it is stored. A failure does not keep the session
    /// alive.
    @discardableResult
    func keepProfile(of user: Account, in transaction: any ArchiveTransaction) async -> Bool {
        do {
            try await keptProfiles.keep(user, at: clock.now, in: transaction)
            return true
        } catch {
            logger?.warning("the profile could not be kept for the next sign-in", metadata: ["error": "\(error)"])
            return false
        }
    }

    func quarantine(_ signOut: SignOut, _ transaction: any ArchiveTransaction) async throws -> String {
        await archive.record(signOut, in: transaction)
        let place = try await archive.quarantine(at: clock.now, in: transaction)
        do {
            report(try await transaction.finishQuarantine(.account))
        } catch {
            // The archive is still there, so the user is not signed out. A second name does no harm.
            try? await transaction.restore(.account, from: place)
            throw error
        }
        archive.forgetAccount()
        // Without an account the record has no effect, and the next sign-in removes it.
        try? await archive.journal.forget(in: transaction)
        logger?.notice("an archive that could not be read was moved", metadata: ["to": "\(place)"])
        shared.publish(signOut)
        return place
    }

    private func report(_ durability: ArchiveReceipt.Durability) {
        guard case .unknown(let reason) = durability else { return }
        logger?.warning("saved, but it may not survive a power cut", metadata: ["reason": "\(reason)"])
        shared.publishUnknownDurability(reason)
    }

    func mayReplace(_ error: AccountError) -> Bool { error.isAboutContent && !keepsUnreadable }

    /// Makes sure that an account can be saved, before a code or token is spent.
    func prepareSave() async throws(AccountError) {
        // Ask for a passphrase before acquiring the lock, so that other processes do not wait for the user.
        switch await archive.load() {
        case .present: break
        case .unreadable(let error) where !mayReplace(error): throw error
        case .unreadable(let error):
            let hasOtherKinds = try await AccountError.wrappingErrors { try await archive.hasOtherKindsOfKeys() }
            guard !hasOtherKinds else { throw error }
            try await archive.ring.prepare()
        case .absent: try await archive.ring.prepare()
        }
        try await withTransaction { transaction in
            // An archive that cannot be reached now cannot be replaced later either.
            if case .unreadable(let error) = await archive.load(in: transaction), !mayReplace(error) {
                throw error
            }
            try await archive.prepareSave(in: transaction)
        }
    }
}
