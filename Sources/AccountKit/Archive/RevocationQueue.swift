#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Encrypted tokens that the service has not revoked yet: of sign-outs, of replaced sign-ins, and of exchanges whose
/// result was not stored. A ninth entry replaces the oldest. An entry is removed 30 days after the first attempt to
/// deliver it: by then most tokens have expired.
struct RevocationQueue: Sendable {
    typealias Pending = SealedRecords<QueuedRevocation>.Record

    static let maximumRefusalCount = 3

    static let maximumCount = 8
    static let maximumAge: TimeInterval = 30 * 24 * 3600

    private static let entries = SealedRecords<QueuedRevocation>.entries("Revocation", count: maximumCount)

    let records: SealedRecords<QueuedRevocation>

    init(archive: AccountArchive, appIdentifier: String, session: SessionName) {
        records = SealedRecords(
            at: Self.entries, purpose: "revocations", name: "the queue of pending revocations",
            archive: archive, appIdentifier: appIdentifier, session: session,
            sharedPlace: archive.storage.sharedPlace)
    }

    @discardableResult
    func add(
        _ account: Account, waitsForSignOut: Bool = false, at date: Date, in transaction: any ArchiveTransaction
    ) async throws -> Pending {
        var place: (entry: ArchiveEntry, revision: ArchiveRevision?, date: Date)?
        for entry in records.entries {
            let found: StoredEntry?
            do {
                found = try await transaction.read(entry)
            } catch {
                // An entry that cannot be read cannot be replaced either.
                continue
            }
            guard let stored = found else {
                place = (entry, nil, date)
                break
            }
            // An entry that does not open is replaced first; on shared storage last, as another machine may open it.
            let unreadable = records.archive.isShared ? date : .distantPast
            let age = (try? await records.open(stored.bytes))?.payload.date ?? unreadable
            if place == nil || age < place!.date { place = (entry, stored.revision, age) }
        }
        guard let place else { throw AccountError(.inaccessible, "the queue of revocations cannot be written") }
        return try await records.write(
            QueuedRevocation(of: account, waitsForSignOut: waitsForSignOut, at: date), to: place.entry,
            ifRevision: place.revision, at: date, in: transaction)
    }

    /// Lets entries that wait for the sign-out of `account` be delivered. An entry that cannot be changed still waits.
    func release(beside account: Account, at date: Date, in transaction: any ArchiveTransaction) async {
        for var pending in await records.readable({ try await transaction.read($0) })
        where pending.payload.waitsForSignOut
            && account.isEnded(byRevoking: pending.payload.account, supportsPerGrantRevocation: false)
        {
            pending.payload.release()
            try? await update(pending, at: date, in: transaction)
        }
    }

    func update(_ pending: Pending, at date: Date, in transaction: any ArchiveTransaction) async throws {
        // Without the keys of the entry, AccountKit would ask the user for a passphrase again.
        try await records.write(
            pending.payload, to: pending.entry, ifRevision: pending.revision, with: pending.keys, at: date,
            in: transaction)
    }

    /// Withdraws the tokens of an account that stays signed in, under the lock. Entries that do not open stay.
    func withdraw(_ account: Account, in transaction: any ArchiveTransaction) async throws {
        for queued in await records.readable({ try await transaction.read($0) })
        where queued.payload.account.sharesTokens(with: account) {
            _ = try await transaction.remove(queued.entry, ifRevision: queued.revision)
        }
    }

    /// Returns the entries that open, without a lock. They may include a sign-out in progress. Others stay in the queue.
    func pending(isInteractive: Bool = false) async -> [Pending] {
        await records.readable(isInteractive: isInteractive) { try await records.archive.storage.read($0) }
    }
}
