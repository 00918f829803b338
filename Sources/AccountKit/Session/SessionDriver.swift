import Logging

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Carries out the steps of procedures: on the archive, at the service, and in the shared account.
struct SessionDriver: Sendable {
    let archive: AccountArchive
    let revocations: RevocationQueue
    let shared: SharedAccount
    let refreshes: SharedRefreshes
    let clock: any WallClock
    let lockPatience: Duration
    let logger: Logger?

    /// Runs a procedure to its end. Whatever happens, the transaction that it began is ended.
    ///
    /// - Parameter authority: Asked by the procedures that ask a service; `nil` for the others.
    func run<Procedure: SessionProcedure>(
        _ procedure: Procedure, authority: (any AccountAuthority)? = nil
    ) async -> Procedure.Outcome {
        var procedure = procedure
        var transaction: (any ArchiveTransaction)?
        var step = procedure.start()
        if case .lock = step { await archive.askBeforeLock() }
        while true {
            if case .finish(let outcome) = step {
                await transaction?.end()
                return outcome
            }
            let event = await carryOut(step, authority, Procedure.self, &transaction)
            step = procedure.resume(after: event)
        }
    }

    private func carryOut<Procedure: SessionProcedure>(
        _ step: SessionStep<Procedure.Outcome>, _ authority: (any AccountAuthority)?, _: Procedure.Type,
        _ transaction: inout (any ArchiveTransaction)?
    ) async -> SessionEvent {
        do {
            switch step {
            case .load: return .content(await load(transaction))
            case .lock: transaction = try await archive.storage.beginTransaction(patience: lockPatience)
            case .lockSoon:
                transaction = try await archive.storage.beginTransaction(patience: min(lockPatience, .seconds(1)))
            case .prepareSave: try await archive.prepareSave(in: transaction.held)
            case .setAside:
                let place = try await archive.setAside(at: clock.now, in: transaction.held)
                logger?.notice("an archive that could not be read was moved", metadata: ["to": "\(place)"])
                shared.movedArchive = place
                return .setAside(place: place)
            case .putBack(let place):
                try await archive.putBack(from: place, in: transaction.held)
                shared.movedArchive = nil
            case .recordIntent:
                return .intentRecorded(
                    unfinished: try await archive.recordIntent(at: clock.now, in: transaction.held))
            case .forgetIntent: try await archive.forgetIntent(in: transaction.held)
            case .verify(let account):
                do {
                    return .verified(try await authority.needed.verify(account))
                } catch {
                    return .refused(AuthoritySignal(error))
                }
            case .requestTokens(let account):
                do {
                    return .renewed(try await authority.needed.refresh(account))
                } catch {
                    return .refused(AuthoritySignal(error))
                }
            case .refresh(let account): return .refreshEnded(await refresh(account, authority.needed))
            case .save(let account, let revision):
                return .saved(
                    try await save(
                        account, revision, isSignIn: Procedure.self == SignInProcedure.self, transaction.held))
            case .queueRevocation(let account):
                try await revocations.add(account, at: clock.now, in: transaction.held)
            case .withdrawRevocation(let account): try await revocations.withdraw(account, in: transaction.held)
            case .keepUnsaved(let account, let spent, let revision):
                archive.keepUnsaved(account, inPlaceOf: spent, ifRevision: revision)
                shared.publish(account, isSignIn: false)
            case .clear(let signOut, let revision):
                let durability = try await archive.clear(signOut, ifRevision: revision, in: transaction.held)
                shared.publish(signOut)
                report(durability)
            case .finish: preconditionFailure("there is nothing to carry out")
            }
            return .done
        } catch let error as AccountError {
            logger?.debug("a step of the session failed", metadata: ["error": "\(error)"])
            return .failed(error)
        } catch is CancellationError {
            return .failed(AccountError(.cancelled, "cancelled while waiting for the archive: nothing was changed"))
        } catch {
            return .failed(AccountError(.inaccessible, "the storage failed", cause: error))
        }
    }

    private func load(_ transaction: (any ArchiveTransaction)?) async -> AccountArchive.Content {
        while true {
            let changeCount = shared.changeCount
            let content =
                if let transaction { await archive.load(in: transaction) } else { await archive.load() }
            // What was published meanwhile may be older than what was read, or newer: another look tells.
            if shared.publish(content, readSince: changeCount) { return content }
        }
    }

    private func save(
        _ account: Account, _ revision: ArchiveRevision?, isSignIn: Bool, _ transaction: any ArchiveTransaction
    ) async throws -> Account {
        let (saved, receipt) = try await archive.save(
            account, ifRevision: revision, at: clock.now, in: transaction)
        if isSignIn { await archive.forgetLastSession(in: transaction) }
        shared.publish(saved, isSignIn: isSignIn)
        report(receipt.durability)
        return saved
    }

    private func report(_ durability: ArchiveReceipt.Durability) {
        guard case .unknown(let reason) = durability else { return }
        logger?.warning("saved, but it may not survive a power cut", metadata: ["reason": "\(reason)"])
        shared.publishUnknownDurability(reason)
    }

    /// Makes sure that an account could be saved, before anything is spent on getting one.
    func prepareSave() async throws(AccountError) {
        do {
            // A person is not asked under the lock, where others would wait.
            switch await archive.load() {
            case .present: break
            case .unreadable(let error) where !error.isAboutContent: throw error
            case .unreadable(let error) where try await archive.hasOtherKindsOfKeys(): throw error
            case .absent, .unreadable: try await archive.ring.prepare()
            }
            let transaction = try await archive.storage.beginTransaction(patience: lockPatience)
            do {
                // What cannot be reached now cannot be replaced later either.
                if case .unreadable(let error) = await archive.load(in: transaction), !error.isAboutContent {
                    throw error
                }
                try await archive.prepareSave(in: transaction)
            } catch {
                await transaction.end()
                throw error
            }
            await transaction.end()
        } catch let error as AccountError {
            throw error
        } catch is CancellationError {
            throw AccountError(.cancelled, "cancelled while waiting for the archive: nothing was changed")
        } catch {
            throw AccountError(.inaccessible, "the storage failed", cause: error)
        }
    }

    /// Refreshes an account, or joins those who are at it.
    func refresh(_ account: Account, _ authority: any AccountAuthority) async -> RefreshOutcome {
        await refreshes.outcome(of: account) {
            let outcome = await run(RefreshProcedure(of: account, now: clock.now), authority: authority)
            if case .unsaved(_, let error) = outcome {
                logger?.error("new tokens could not be saved", metadata: ["error": "\(error)"])
            }
            return outcome
        }
    }
}

extension (any ArchiveTransaction)? {
    /// The transaction that the procedure began before.
    fileprivate var held: any ArchiveTransaction {
        guard let self else { preconditionFailure("a procedure changes the archive only under its lock") }
        return self
    }
}

extension (any AccountAuthority)? {
    /// The authority of a procedure that asks one.
    fileprivate var needed: any AccountAuthority {
        guard let self else { preconditionFailure("a procedure that asks a service is given one") }
        return self
    }
}
