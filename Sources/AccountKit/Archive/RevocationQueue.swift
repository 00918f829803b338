#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Encrypted tokens that the service has not revoked yet: of sign-outs, of replaced sign-ins, and of exchanges whose result was not
/// stored.
///
/// The queue has at most eight entries; a ninth replaces the oldest. An entry is removed 30 days after the first attempt to
/// deliver it: by then most tokens have expired.
struct RevocationQueue: Sendable {
    typealias Pending = SealedRecords<QueuedRevocation>.Record

    static let maximumRefusalCount = 3

    static let maximumCount = 8
    static let maximumAge: TimeInterval = 30 * 24 * 3600

    // Once for all stores.
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
            // An entry that does not open is replaced first. On storage that machines share it is replaced last, since another machine may have
            // its key.
            let unreadable = records.archive.isShared ? date : .distantPast
            let age = (try? await records.open(stored.bytes))?.payload.date ?? unreadable
            if place == nil || age < place!.date { place = (entry, stored.revision, age) }
        }
        guard let place else { throw AccountError(.inaccessible, "the queue of revocations cannot be written") }
        return try await records.write(
            QueuedRevocation(of: account, waitsForSignOut: waitsForSignOut, at: date), to: place.entry,
            ifRevision: place.revision, at: date, in: transaction)
    }

    /// Lets entries that wait for the sign-out of `account` be delivered, as if they had just been queued.
    ///
    /// An entry that cannot be changed keeps waiting.
    func release(beside account: Account, at date: Date, in transaction: any ArchiveTransaction) async {
        for entry in records.entries {
            guard var pending = try? await records.record(entry, { try await transaction.read($0) }),
                pending.payload.waitsForSignOut,
                account.isEnded(byRevoking: pending.payload.account, supportsPerGrantRevocation: false)
            else { continue }
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

    /// Removes the tokens of an account that stays signed in from the queue, under the lock.
    ///
    /// Entries that cannot be read, or that the keys of this account do not open, stay.
    func withdraw(_ account: Account, in transaction: any ArchiveTransaction) async throws {
        for entry in records.entries {
            guard let queued = try? await records.record(entry, { try await transaction.read($0) }),
                queued.payload.account.sharesTokens(with: account)
            else { continue }
            _ = try await transaction.remove(entry, ifRevision: queued.revision)
        }
    }

    /// Returns the entries that open, without a lock. They may include a sign-out in progress.
    ///
    /// - Parameter isInteractive: Whether to prompt for a passphrase; never under the lock.
    func pending(isInteractive: Bool = false) async throws -> [Pending] {
        var pending: [Pending] = []
        for entry in records.entries {
            // An entry that cannot be read or opened now stays in the queue.
            let queued = try? await records.record(entry, isInteractive: isInteractive) {
                try await records.archive.storage.read($0)
            }
            if let queued { pending.append(queued) }
        }
        return pending
    }
}
