import AccountCrypto
import AccountSupport

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The steps of a move. Only one storage at a time has a refresh token that programs use:
///
/// 1. At the source: check that no refresh is unfinished, and withdraw the tokens from the revocation queue.
/// 2. At the target: write the session as an incoming entry. No program uses this entry as a session.
/// 3. At the source: replace the account with a copy that has no refresh token and that refers to the target. After this
///    step, the move can only be completed.
/// 4. At the target: store the incoming session as the account, and remove the incoming entry.
/// 5. At the source: remove the keys of the offline data, which are now at the target, and record that the move is
///    complete.
///
/// The move holds the refresh lease of the source. Each step changes one storage in a transaction. Between steps 3 and
/// 4 no storage can refresh. From step 3 on, both copies contain the identifier of the move, so a repeated call continues
/// the move.
struct SessionTransport {
    let source: SessionDriver
    let target: SessionDriver
    let sourceName: String
    let targetName: String
    let lease: any ArchiveLease

    private enum Start {
        /// The session is at the source. `previous` is the move that transferred the session to the source.
        case here(
            Account, revision: ArchiveRevision, incoming: IncomingSession, keys: ArchiveKeys,
            previous: SessionTransfer?)

        /// An earlier move, which may be incomplete, has taken the refresh token from the source.
        case gone(SessionTransfer, keys: ArchiveKeys)
    }

    func run() async throws(AccountError) -> Account {
        let transfer = SessionTransfer(
            id: UUID().uuidString, place: sourceName, date: source.clock.now, role: .arrived)
        switch try await begin(transfer) {
        case .here(let account, let revision, let incoming, let keys, let previous):
            try await send(incoming, keys: keys, previous: previous)
            var leaving = transfer
            (leaving.place, leaving.role) = (targetName, .leaving)
            try await leave(account, ifRevision: revision, as: leaving, sent: incoming)
            let arrived = try await arrive(transfer.id, keys: keys)
            try await complete(leaving)
            return arrived
        case .gone(let transfer, let keys):
            if transfer.role == .leaving, try await isWaiting(transfer.id, keys: keys) {
                try await confirm(transfer)
            }
            let arrived = try await arrive(transfer.id, keys: keys, leaving: transfer)
            if transfer.role == .leaving { try await complete(transfer) }
            return arrived
        }
    }

    // MARK: The source

    private func begin(_ transfer: SessionTransfer) async throws(AccountError) -> Start {
        try await source.withTransaction(under: lease) { transaction in
            let (account, revision) = try await present(in: transaction)
            let opened = try await source.archive.opened(revision, in: transaction)
            if let old = account.transfer, old.role != .arrived { return .gone(old, keys: opened.keys) }
            if let date = try await source.archive.journal.record(in: transaction)?.date {
                throw AccountError(
                    .busy,
                    "a refresh that began on \(LocalTime.text(of: date)) is unfinished, so it is unknown which refresh token is "
                        + "valid: refresh first, then move the session")
            }
            // A process that died during a sign-out may have left these tokens in the queue.
            try await source.revocations.withdraw(account, in: transaction)
            try await source.discardLeftover(of: account, in: transaction)
            var arriving = account
            arriving.transfer = transfer
            // The copy is bound to the target.
            let (bytes, _) = try target.archive.codec.seal(
                arriving, generation: opened.nextGeneration, with: opened.keys)
            let incoming = IncomingSession(
                account: bytes, offlineKeys: try await source.offlineKeys.stored(in: transaction))
            return .here(
                account, revision: revision, incoming: incoming, keys: opened.keys, previous: account.transfer)
        }
    }

    private func present(in transaction: any ArchiveTransaction) async throws -> (Account, ArchiveRevision) {
        switch await source.load(transaction) {
        case .present(let account, let revision): return (account, revision)
        case .absent(let signOut): throw AccountError(notSignedIn: signOut)
        case .unreadable(let error): throw error
        }
    }

    private func leave(
        _ account: Account, ifRevision revision: ArchiveRevision, as transfer: SessionTransfer,
        sent incoming: IncomingSession
    ) async throws(AccountError) {
        try await source.withTransaction(under: lease) { transaction in
            let keys = try await source.offlineKeys.stored(in: transaction)
            guard try await present(in: transaction).1 == revision, keys.map({ Data($0) }) == incoming.offlineKeys
            else {
                throw AccountError(
                    .conflict, "another process changed the session: nothing was moved; try again")
            }
            var rest = account
            rest.credentials.refreshToken = nil
            rest.transfer = transfer
            try await save(rest, ifRevision: revision, in: transaction)
        }
    }

    /// Writes the stored account again, since the earlier write may not survive a power cut.
    private func confirm(_ transfer: SessionTransfer) async throws(AccountError) {
        try await source.withTransaction(under: lease) { transaction in
            let (stored, revision) = try await present(in: transaction)
            guard stored.transfer?.id == transfer.id else { throw changed }
            try await save(stored, ifRevision: revision, in: transaction)
        }
    }

    private func save(
        _ account: Account, ifRevision revision: ArchiveRevision, in transaction: any ArchiveTransaction
    ) async throws {
        let (saved, receipt) = try await source.archive.save(
            account, ifRevision: revision, at: source.clock.now, in: transaction)
        source.shared.publish(saved, isSignIn: false)
        try check(receipt.durability)
    }

    private func complete(_ transfer: SessionTransfer) async throws(AccountError) {
        let sent = try await target.withTransaction { try await target.offlineKeys.stored(in: $0) }
        try await source.withTransaction(under: lease) { transaction in
            var (account, revision) = try await present(in: transaction)
            // If the identifiers differ, the user has signed in again.
            guard account.transfer?.id == transfer.id else { return }
            account.transfer?.role = .left
            // The target now has the key, and removes the key when the user signs out there.
            try await source.offlineKeys.remove(storedIn: sent, in: transaction)
            try await save(account, ifRevision: revision, in: transaction)
        }
    }

    // MARK: The target

    private func send(
        _ session: IncomingSession, keys: ArchiveKeys, previous: SessionTransfer?
    ) async throws(AccountError) {
        let bytes = try session.encode()
        try await target.withTransaction { transaction in
            switch await target.load(transaction) {
            case .absent: target.archive.use(keys)
            case .present(let other, _):
                guard let move = other.move else { throw occupied(by: other) }
                // A move away from the target must be completed first, unless that move transferred the session to the
                // source.
                guard move.isComplete || other.transfer?.id == previous?.id else { throw AccountError(move) }
            case .unreadable(let error): throw error
            }
            let waiting = try await target.archive.incoming(knowing: keys) { try await transaction.read($0) }
            if let waiting, waiting.transfer.place != sourceName {
                throw AccountError(
                    .conflict,
                    "the move of a session from \(waiting.transfer.place) to \(targetName) is not complete: complete that move "
                        + "first, or sign out at \(targetName) to discard it")
            }
            // Only check that there is space for the keys, which are stored later.
            _ = try await target.offlineKeys.changes(
                for: session.offlineKeys.map { [UInt8]($0) }, keys, in: transaction)
            let receipt = try await transaction.replace(.incoming, with: bytes, ifRevision: waiting?.revision)
            try check(receipt.durability)
        }
    }

    private func isWaiting(_ id: String, keys: ArchiveKeys) async throws(AccountError) -> Bool {
        try await target.withTransaction { transaction in
            try await target.archive.incoming(knowing: keys) { try await transaction.read($0) }?.transfer.id == id
        }
    }

    private func arrive(
        _ id: String, keys: ArchiveKeys, leaving transfer: SessionTransfer? = nil
    ) async throws(AccountError) -> Account {
        try await target.withTransaction { transaction in
            var revision: ArchiveRevision?
            let content = await target.load(transaction)
            let waiting = try await target.archive.incoming(knowing: keys) { try await transaction.read($0) }
            switch content {
            case .present(let account, _) where account.transfer?.id == id && account.move == nil:
                if waiting?.transfer.id == id { try await transaction.discard(.incoming) }
                return account
            case .present(let other, _) where waiting?.transfer.id == id && other.move == nil: throw occupied(by: other)
            case .present(let other, let stored):
                revision = stored
                if waiting?.transfer.id != id, let move = other.move { throw AccountError(move) }
            case .absent: break
            case .unreadable(let error): throw error
            }
            guard let waiting, waiting.transfer.id == id else { throw missing(transfer) }
            let changes = try await target.offlineKeys.changes(
                for: waiting.session.offlineKeys.map { [UInt8]($0) }, keys, in: transaction)
            for change in changes {
                _ = try await transaction.replace(change.entry, with: change.bytes, ifRevision: change.revision)
            }
            let receipt = try await transaction.replace(
                .account, with: [UInt8](waiting.session.account), ifRevision: revision)
            try check(receipt.durability)
            await target.archive.forgetLastSession(in: transaction)
            try await transaction.discard(.incoming)
            target.archive.use(keys)
            return await target.load(transaction).account ?? waiting.account
        }
    }

    // MARK: Errors

    private func occupied(by account: Account) -> AccountError {
        AccountError(
            .conflict,
            "\(account.displayName) is signed in at \(targetName), and a move does not replace that session",
            hint: "sign out there first, then try again")
    }

    private func missing(_ transfer: SessionTransfer?) -> AccountError {
        guard let transfer, transfer.place != targetName else {
            return AccountError(
                .notSignedIn,
                "the session was moved to \(targetName), but it no longer exists there, because it was signed out or ended there",
                hint: "sign in again"
            )
        }
        return AccountError(SessionMove(transfer, isComplete: transfer.role == .left))
    }

    private var changed: AccountError {
        AccountError(.conflict, "another process changed the session", hint: "try again")
    }

    private func check(_ durability: ArchiveReceipt.Durability) throws(AccountError) {
        guard case .unknown(let reason) = durability else { return }
        throw AccountError(
            .durabilityUnknown,
            "the disk did not confirm that the change survives a power cut (\(reason)): the move was not continued; try again once "
                + "the disk is healthy")
    }
}
