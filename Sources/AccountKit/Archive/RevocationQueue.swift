import AccountCrypto

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
    struct Pending: Sendable {
        let entry: ArchiveEntry
        var revision: ArchiveRevision

        /// The account of the tokens, without name and profile. `verifiedAt` is when they were queued, or when the first attempt to deliver
        /// them failed.
        var account: Account

        /// The keys that opened the entry; `nil` if it was queued just now.
        var keys: ArchiveKeys?

        var attemptCount: Int {
            get { if case .integer(let count)? = account.profile["attempts"] { Int(clamping: count) } else { 0 } }
            set { account.profile["attempts"] = .integer(Int64(newValue)) }
        }

        var refusalCount: Int {
            get { if case .integer(let count)? = account.profile["refusals"] { Int(clamping: count) } else { 0 } }
            set { account.profile["refusals"] = .integer(Int64(newValue)) }
        }

        /// Whether the tokens are of a sign-in that the same user has replaced, at a service that may end all sign-ins of a
        /// user when it revokes one. The entry waits until the user signs out.
        var waitsForSignOut: Bool {
            get { account.profile[Self.waitsForSignOutKey] == .boolean(true) }
            set { account.profile[Self.waitsForSignOutKey] = newValue ? .boolean(true) : nil }
        }

        fileprivate static let waitsForSignOutKey = "waitsForSignOut"

        var nextTry: Date? {
            get { if case .date(let date)? = account.profile["nextTry"] { date } else { nil } }
            set { account.profile["nextTry"] = newValue.map { .date($0) } }
        }

        /// Records a failed attempt. A pause of one minute follows, which doubles each time, up to a day. After the first failure to reach
        /// the service there is no pause.
        mutating func fail(isRefusal: Bool, at date: Date) {
            if attemptCount == 0 { account.verifiedAt = date }
            attemptCount = min(attemptCount + 1, 1000)
            if isRefusal { refusalCount += 1 }
            let pause = min(60 * TimeInterval(1 << min(attemptCount - 1, 11)), 86_400)
            nextTry = attemptCount == 1 && !isRefusal ? nil : date.addingTimeInterval(pause)
        }

        /// Whether the pause is over. A date more than a day ahead means that the clock was set back.
        func isDue(at date: Date) -> Bool {
            guard let nextTry else { return true }
            return !(0...86_400 ~= nextTry.timeIntervalSince(date)) || nextTry <= date
        }
    }

    static let maximumRefusalCount = 3

    static let maximumCount = 8
    static let maximumAge: TimeInterval = 30 * 24 * 3600

    private static let places = SealedRecords.places("Revocation", count: maximumCount)

    let records: SealedRecords
    private var archive: AccountArchive { records.archive }

    init(archive: AccountArchive, appIdentifier: String, session: SessionName) {
        records = SealedRecords(
            at: Self.places, purpose: "revocations", name: "the queue of pending revocations",
            archive: archive, appIdentifier: appIdentifier, session: session,
            sharedPlace: archive.storage.sharedPlace)
    }

    @discardableResult
    func add(
        _ account: Account, waitsForSignOut: Bool = false, at date: Date, in transaction: any ArchiveTransaction
    ) async throws -> Pending {
        var place: (entry: ArchiveEntry, revision: ArchiveRevision?, date: Date)?
        for entry in records.places {
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
            let unreadable = archive.isShared ? date : .distantPast
            let age = (try? await records.open(stored.bytes))?.account.verifiedAt ?? unreadable
            if place == nil || age < place!.date { place = (entry, stored.revision, age) }
        }
        guard let place else { throw AccountError(.inaccessible, "the queue of revocations cannot be written") }
        var remains = Account(
            id: account.id, issuer: account.issuer, credentials: account.credentials, verifiedAt: date)
        if waitsForSignOut { remains.profile[Pending.waitsForSignOutKey] = .boolean(true) }
        let (bytes, _) = try records.codec.seal(remains, with: try await archive.keysBeside(at: date))
        let receipt = try await transaction.replace(place.entry, with: bytes, ifRevision: place.revision)
        return Pending(entry: place.entry, revision: receipt.revision, account: remains)
    }

    /// Lets entries that wait for the sign-out of `account` be delivered, as if they had just been queued.
    ///
    /// An entry that cannot be changed keeps waiting.
    func release(beside account: Account, at date: Date, in transaction: any ArchiveTransaction) async {
        for entry in records.places {
            guard let stored = try? await transaction.read(entry),
                let (queued, keys) = try? await records.open(stored.bytes),
                account.isEnded(byRevoking: queued, supportsPerGrantRevocation: false)
            else { continue }
            var pending = Pending(entry: entry, revision: stored.revision, account: queued, keys: keys)
            guard pending.waitsForSignOut else { continue }
            pending.waitsForSignOut = false
            pending.attemptCount = 0
            pending.nextTry = nil
            try? await update(pending, at: date, in: transaction)
        }
    }

    func update(_ pending: Pending, at date: Date, in transaction: any ArchiveTransaction) async throws {
        // Without the keys of the entry, the user would be asked for a passphrase again.
        var keys = pending.keys
        if keys == nil { keys = try await archive.keysBeside(at: date) }
        let (bytes, _) = try records.codec.seal(pending.account, with: keys!)
        _ = try await transaction.replace(pending.entry, with: bytes, ifRevision: pending.revision)
    }

    /// Removes the tokens of an account that stays signed in from the queue, under the lock.
    ///
    /// Entries that cannot be read, or that the keys of this account do not open, stay.
    func withdraw(_ account: Account, in transaction: any ArchiveTransaction) async throws {
        for entry in records.places {
            guard let stored = try? await transaction.read(entry) else { continue }
            guard let queued = try? await records.open(stored.bytes).account, queued.sharesTokens(with: account) else {
                continue
            }
            _ = try await transaction.remove(entry, ifRevision: stored.revision)
        }
    }

    /// Returns the entries that open, without a lock. They may include a sign-out in progress.
    ///
    /// - Parameter isInteractive: Whether the user may be asked for a passphrase; never under the lock.
    func pending(isInteractive: Bool = false) async throws -> [Pending] {
        var pending: [Pending] = []
        for entry in records.places {
            // An entry that cannot be read or opened now stays in the queue.
            guard let stored = try? await archive.storage.read(entry),
                let (account, keys) = try? await records.open(stored.bytes, isInteractive: isInteractive)
            else { continue }
            pending.append(Pending(entry: entry, revision: stored.revision, account: account, keys: keys))
        }
        return pending
    }

    func reseal(
        with keys: ArchiveKeys, before: ArchiveKeys, in transaction: any ArchiveTransaction
    ) async throws {
        try await records.reseal(with: keys, before: before, in: transaction)
    }
}
