import Logging

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Performs the actions of state machines: on the archive, at the service, and in the shared account.
struct SessionDriver: Sendable {
    let archive: AccountArchive
    let revocations: RevocationQueue
    let offlineKeys: OfflineKeys
    let shared: SharedAccount
    let refreshes: SingleFlight<Request, RefreshOutcome>
    let exchanges: Exchanges
    let clock: any WallClock
    let lockTimeout: Duration
    let logger: Logger?

    /// Whether an archive that does not open may be replaced or removed also on storage that machines share.
    var replacesUnreadable = false

    /// Whether an archive that does not open stays where it is: another machine may have its key.
    var keepsUnreadable: Bool { archive.isShared && !replacesUnreadable }

    /// What those who want the same share.
    struct Request: Sendable {
        let account: Account

        /// `nil` for new tokens.
        let derivation: Derivation?

        static func isSame(_ left: Request, _ right: Request) -> Bool {
            left.account.isSameGrant(as: right.account) && left.derivation?.target == right.derivation?.target
        }
    }

    struct Context {
        var authority: (any AccountAuthority)?

        /// The lease of a refresh, whose transactions it uses, and which it ends.
        var lease: (any ArchiveLease)?

        /// Until when a request that can be broken off is waited for.
        var deadline: ContinuousClock.Instant?

        /// Told while the refresh connects to the service, and just before the refresh token is sent.
        var progress: SingleFlight<Request, RefreshOutcome>.Progress?

        /// How many refreshes of these tokens had failed before the lease was waited for.
        var failureCount = 0
    }

    /// What a state machine has begun, and must not leave behind.
    private struct Begun {
        var transaction: (any ArchiveTransaction)?
        var lease: (any ArchiveLease)?
        var exchange: (any PreparedExchange)?
        var isExchanging = false
    }

    /// Runs a state machine to its end. Whatever happens, the transaction that it began is ended, and so is the lease.
    func run<Machine: SessionStateMachine>(_ machine: Machine, _ context: Context = Context()) async -> Machine.Outcome
    {
        var machine = machine
        var begun = Begun(lease: context.lease)
        var action = machine.start()
        while true {
            if case .finish(let outcome) = action {
                begun.exchange?.abandon()
                await begun.transaction?.end()
                if begun.isExchanging { exchanges.end() }
                await begun.lease?.end()
                return outcome
            }
            action = machine.resume(after: await perform(action, context, &begun))
        }
    }

    private func perform<Outcome: Sendable>(
        _ action: SessionAction<Outcome>, _ context: Context, _ begun: inout Begun
    ) async -> SessionEvent {
        var transaction: any ArchiveTransaction {
            guard let transaction = begun.transaction else {
                preconditionFailure("a state machine changes the archive only under its lock")
            }
            return transaction
        }
        var authority: any AccountAuthority {
            guard let authority = context.authority else {
                preconditionFailure("a state machine that asks a service is given one")
            }
            return authority
        }
        do {
            switch action {
            case .load: return .content(await load(begun.transaction))
            case .beginTransaction: begun.transaction = try await begin(lockTimeout, begun.lease)
            case .beginTransactionSoon:
                begun.transaction = try await begin(min(lockTimeout, .seconds(1)), begun.lease)
            case .endTransaction: await begun.transaction.take()?.end()
            case .renewLease:
                await begun.transaction.take()?.end()
                guard await begun.lease?.lasts(for: .zero) != true else { return .done }
                await begun.lease.take()?.end()
                begun.lease = try await archive.storage.acquireRefreshLease(timeout: lockTimeout)
            case .prepareExchange(let account, let derivation):
                if let reason = await pauseOfAnother(failureCount: context.failureCount) { return .postponed(reason) }
                begun.exchange.take()?.abandon()
                context.progress?.begin()
                defer { context.progress?.wait() }
                do {
                    begun.exchange = try await prepare(derivation, of: account, at: authority)
                } catch {
                    return .refused(AuthorityError(error))
                }
            case .prepareSave: try await archive.prepareSave(in: transaction)
            case .recordIntent:
                if let reason = try await beginExchange(transaction, authority, context, &begun) {
                    return .postponed(reason)
                }
                archive.unsaved.markSpending()
                return .intentRecorded(
                    unfinished: try await archive.journal.recordIntent(at: clock.now, in: transaction))
            case .beginExchange:
                if let reason = try await beginExchange(transaction, authority, context, &begun) {
                    return .postponed(reason)
                }
                return .intentRecorded(unfinished: try await archive.journal.record(in: transaction)?.date)
            case .recordFailure(let reason, let mayBeSpent):
                try await archive.journal.recordFailure(reason, mayBeSpent: mayBeSpent, at: clock.now, in: transaction)
            case .forgetRefreshRecord: try await archive.journal.forget(in: transaction)
            case .verify(let account): return await verify(account, authority, until: context.deadline)
            case .requestTokens: return await send(&begun, spendsRefreshToken: true, authority)
            case .deriveToken(_, let derivation):
                return await send(&begun, spendsRefreshToken: derivation.means == .refresh, authority)
            case .refresh(let account):
                return .refreshEnded(await refresh(account, authority, until: context.deadline))
            case .save(let account, let revision):
                return .saved(try await save(account, revision, transaction))
            case .queueRevocation(let account, let isSignOut):
                if isSignOut { await revocations.release(beside: account, at: clock.now, in: transaction) }
                return .queued(try await revocations.add(account, at: clock.now, in: transaction))
            case .withdrawRevocation(let account): try await revocations.withdraw(account, in: transaction)
            case .revoke(let account, let pending): _ = await revoke(account, pending, at: authority)
            case .keepUnsaved(let account, let spent, let revision):
                archive.unsaved.keep(account, inPlaceOf: spent, ifRevision: revision)
                shared.publish(account, isSignIn: false)
            case .quarantine(let signOut): return .quarantined(place: try await quarantine(signOut, transaction))
            case .clear(let signOut, let revision):
                let durability = try await clear(signOut, revision, transaction)
                shared.publish(signOut)
                report(durability)
                await queueOrphans(beside: .absent(signOut), in: transaction)
            case .finish: preconditionFailure("there is nothing to perform")
            }
            return .done
        } catch {
            logger?.debug("a step of the session failed", metadata: ["error": "\(error)"])
            return .failed(AccountError(wrapping: error))
        }
    }

    /// Makes sure that what is about to be sent is finished.
    ///
    /// - Returns: Why nothing is to be sent now; `nil` if it may be.
    private func beginExchange(
        _ transaction: any ArchiveTransaction, _ authority: any AccountAuthority, _ context: Context,
        _ begun: inout Begun
    ) async throws -> UnverifiedReason? {
        // If another process's refresh failed while this one waited for the lease, do not send another at once.
        if let record = try await archive.journal.record(in: transaction),
            record.failureCount ?? 0 != context.failureCount, let reason = record.pause(at: clock.now)
        {
            return reason
        }
        // A refresh that follows on a token for another API that was refused goes on with the exchange that was begun for that.
        if begun.isExchanging { return nil }
        exchanges.begin(limit: authority.exchangeTimeout)
        begun.isExchanging = true
        // In this order: a caller that leaves after the commit finds an exchange to wait for. If all left before it, nothing
        // is sent.
        if let progress = context.progress, !progress.commit() { throw CancellationError() }
        return nil
    }

    private func prepare(
        _ derivation: Derivation?, of account: Account, at authority: any AccountAuthority
    ) async throws -> any PreparedExchange {
        let request = derivation?.request ?? .refresh
        guard let authority = authority as? any ExchangeAuthority else {
            return UnpreparedExchange(authority: authority, request: request, account: account)
        }
        return try await authority.prepare(request, of: account)
    }

    /// Sends what was prepared.
    ///
    /// A process that was suspended since it took the lease may have lost it, and another may have spent the refresh token. The
    /// storage is asked first. The process can be suspended after that as well, so the clock decides immediately before the first byte.
    private func send(
        _ begun: inout Begun, spendsRefreshToken: Bool, _ authority: any AccountAuthority
    ) async -> SessionEvent {
        guard let exchange = begun.exchange.take() else {
            preconditionFailure("a state machine prepares an exchange before it asks for it")
        }
        let (lease, limit) = (spendsRefreshToken ? begun.lease : nil, authority.exchangeTimeout)
        guard await lease?.lasts(for: limit) != false else {
            exchange.abandon()
            return .refused(.withheld)
        }
        do {
            return .renewed(try await exchange.send { lease?.isHeld(for: limit) != false })
        } catch {
            return .refused(AuthorityError(error))
        }
    }

    private func begin(_ timeout: Duration, _ lease: (any ArchiveLease)?) async throws -> any ArchiveTransaction {
        if let lease { return try await lease.beginTransaction(timeout: timeout) }
        // A person is not asked under the lock, where others would wait.
        await archive.askBeforeLock()
        return try await archive.storage.beginTransaction(timeout: timeout)
    }

    private func verify(
        _ account: Account, _ authority: any AccountAuthority, until deadline: ContinuousClock.Instant?
    ) async -> SessionEvent {
        do {
            guard let identity = try await withDeadline(deadline, { try await authority.verify(account) }) else {
                return .refused(.noResponse(.timeout))
            }
            return .verified(identity)
        } catch {
            return .refused(AuthorityError(error))
        }
    }

    // MARK: The archive

    func load(_ transaction: (any ArchiveTransaction)? = nil) async -> AccountArchive.Content {
        while true {
            let changeCount = shared.changeCount
            let content =
                if let transaction { await archive.load(in: transaction) } else { await archive.load() }
            // Something was published during the read, and may be older or newer than what was read: read again.
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
            // Only under the lock is it certain that their sign-in is over. If that is not to be had now, the next look sees
            // to it.
            _ = try? await withTransaction(timeout: min(lockTimeout, .seconds(1))) { await load($0) }
            return content
        }
    }

    /// Saves tokens that could not be saved when they came, if there are any: the disk may have room again.
    ///
    /// Under the lease: a process that is refreshing the stored tokens now would find these in their place, take its own new
    /// tokens for orphans, and revoke them, and with them this sign-in. With a timeout of zero nothing is saved without the
    /// lease; with a longer one they are saved all the same, since the process may be about to end.
    func saveUnsaved(timeout: Duration) async {
        let lease = try? await archive.storage.acquireRefreshLease(timeout: timeout)
        if lease == nil, timeout == .zero { return }
        // What fails is tried again by whoever looks next.
        try? await withTransaction(timeout: timeout, under: lease) { transaction in
            // This loads the unsaved tokens in place of the stored ones, unless somebody else has ended their sign-in.
            guard case .present(let account, let revision) = await load(transaction),
                archive.unsaved.storedAccount != nil
            else { return }
            _ = try await save(account, revision, transaction)
        }
        await lease?.end()
    }

    /// Queues, for revocation, tokens that could not be saved and whose sign-in was ended by somebody who did not know them.
    private func queueOrphans(
        beside content: AccountArchive.Content, in transaction: any ArchiveTransaction
    ) async {
        for orphan in archive.unsaved.takeOrphans() {
            // Another process may have refreshed the stored tokens too, since some services accept a spent one for a while. So
            // the stored tokens may be of the same sign-in as the orphan, even where the service revokes single grants.
            if let stored = content.account, stored.isEnded(byRevoking: orphan, revokesSingleGrants: false) { continue }
            do {
                try await revocations.add(orphan, at: clock.now, in: transaction)
            } catch {
                logger?.debug("tokens that are to be revoked could not be queued", metadata: ["error": "\(error)"])
                // Whoever looks next tries again.
                archive.unsaved.keepOrphan(orphan)
            }
        }
    }

    /// Does something under the lock. Whatever happens, the lock is given up.
    ///
    /// - Throws: An ``AccountError``, whatever `body` throws.
    func withTransaction<Value>(
        timeout: Duration? = nil, under lease: (any ArchiveLease)? = nil,
        _ body: (any ArchiveTransaction) async throws -> Value
    ) async throws(AccountError) -> Value {
        do {
            let transaction = try await begin(timeout ?? lockTimeout, lease)
            do {
                let value = try await body(transaction)
                await transaction.end()
                return value
            } catch {
                await transaction.end()
                throw error
            }
        } catch {
            logger?.debug("a change of the archive failed", metadata: ["error": "\(error)"])
            throw AccountError(wrapping: error)
        }
    }

    func save(
        _ account: Account, _ revision: ArchiveRevision?, isSignIn: Bool = false, _ transaction: any ArchiveTransaction
    ) async throws -> Account {
        // A sign-out that died while these could not be saved has left those that were spent for them to be revoked.
        if !isSignIn, let spent = archive.unsaved.storedAccount {
            try? await revocations.withdraw(spent, in: transaction)
        }
        let (saved, receipt) = try await write(account, revision, isSignIn: isSignIn, transaction)
        if isSignIn {
            await archive.forgetLastSession(in: transaction)
            do {
                try await offlineKeys.removeMarked(in: transaction)
            } catch {
                logger?.warning("offline data of a sign-out could not be removed", metadata: ["error": "\(error)"])
            }
        }
        shared.publish(saved, isSignIn: isSignIn)
        report(receipt.durability)
        await queueOrphans(beside: .present(saved, receipt.revision), in: transaction)
        return saved
    }

    /// A sign-in drops profile fields that the archive has no room for: the service can send them again.
    private func write(
        _ account: Account, _ revision: ArchiveRevision?, isSignIn: Bool, _ transaction: any ArchiveTransaction
    ) async throws -> (account: Account, receipt: ArchiveReceipt) {
        var account = account
        while true {
            do {
                return try await archive.save(
                    account, ifRevision: revision, at: clock.now, leavesRoom: isSignIn, in: transaction)
            } catch let error as AccountError where error.code == .tooLarge && isSignIn && account.makeRoom() {
                logger?.warning("the archive has no room for the whole profile", metadata: ["error": "\(error)"])
            }
        }
    }

    /// Removes the account, and, if that is the user's wish, the key of the offline data. What the service has ended leaves that
    /// for the user's next sign-in.
    private func clear(
        _ signOut: SignOut, _ revision: ArchiveRevision, _ transaction: any ArchiveTransaction
    ) async throws -> ArchiveReceipt.Durability {
        let content = await archive.load(in: transaction)
        if let user = content.account { try await discardLeftover(of: user, in: transaction) }
        guard signOut.reason == .signedOutByUser, let user = content.account else {
            return try await archive.clear(signOut, ifRevision: revision, in: transaction)
        }
        // In this order: a death on the way loses nothing of one who is still signed in, and leaves nothing that works of one who
        // is not. A disk that is full keeps nobody signed in.
        do {
            try await offlineKeys.markForRemoval(of: user, at: clock.now, in: transaction)
        } catch {
            logger?.debug("the key of the offline data could not be marked", metadata: ["error": "\(error)"])
        }
        let durability = try await archive.clear(signOut, ifRevision: revision, in: transaction)
        do {
            try await offlineKeys.remove(of: user, in: transaction)
        } catch {
            logger?.error("the key of the offline data could not be removed", metadata: ["error": "\(error)"])
        }
        return durability
    }

    /// Moves an archive that cannot be read out of the way, because the user signs out.
    private func quarantine(_ signOut: SignOut, _ transaction: any ArchiveTransaction) async throws -> String {
        await archive.record(signOut, in: transaction)
        let place = try await archive.quarantine(at: clock.now, in: transaction)
        do {
            report(try await transaction.finishQuarantine(.account))
        } catch {
            // It is still there, so nobody was signed out. A second name that cannot be removed is in nobody's way.
            try? await transaction.restore(.account, from: place)
            throw error
        }
        archive.forgetAccount()
        // Without an account nobody acts on a record that stays, and the next sign-in removes it.
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

    /// Whether a sign-in may replace an unreadable archive.
    ///
    /// - Parameter error: Why the archive is unreadable. If it cannot be reached, it cannot be moved aside either.
    func mayReplace(_ error: AccountError) -> Bool { error.isAboutContent && !keepsUnreadable }

    /// Makes sure that an account could be saved, before anything is spent on getting one.
    func prepareSave() async throws(AccountError) {
        // A person is not asked under the lock, where others would wait.
        switch await archive.load() {
        case .present: break
        case .unreadable(let error) where !mayReplace(error): throw error
        case .unreadable(let error):
            do {
                guard try await !archive.hasOtherKindsOfKeys() else { throw error }
            } catch {
                throw AccountError(wrapping: error)
            }
            try await archive.ring.prepare()
        case .absent: try await archive.ring.prepare()
        }
        try await withTransaction { transaction in
            // What cannot be reached now cannot be replaced later either.
            if case .unreadable(let error) = await archive.load(in: transaction), !mayReplace(error) {
                throw error
            }
            try await archive.prepareSave(in: transaction)
        }
    }
}
