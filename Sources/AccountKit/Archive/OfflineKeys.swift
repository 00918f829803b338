package import AccountCrypto

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The key for the offline data of a user on this machine, such as lists and unsent changes.
package struct OfflineKey: Sendable {
    package let seal: RowSeal

    let record: SealedRecords<StoredOfflineKey>.Record

    init(_ record: SealedRecords<StoredOfflineKey>.Record) {
        var record = record
        // An offline key may be in use for longer than the archive is open.
        record.keys = nil
        self.record = record
        let stored = record.payload
        seal = RowSeal(
            key: stored.key.withUnsafeBytes { GuardedBytes(copying: $0) },
            owner: [stored.owner.issuer ?? "", stored.owner.id])
    }
}

/// The keys for offline data of the users of a session, encrypted beside the account.
///
/// A key is 32 random bytes, independent of the data key, which changes when a key of the archive is removed. If the
/// service ends the session, the key stays, so that unsent changes are kept for the next sign-in. A sign-out destroys
/// the key, and with it all data that it encrypts.
struct OfflineKeys: Sendable {
    static let maximumCount = 8

    private static let entries = SealedRecords<StoredOfflineKey>.entries("Offline", count: maximumCount)

    let records: SealedRecords<StoredOfflineKey>

    init(archive: AccountArchive) {
        // Do not bind the keys to a shared storage, since a move also copies keys that do not open now.
        records = SealedRecords(
            at: Self.entries, purpose: "offline", name: "the key of the offline data", archive: archive)
    }

    private typealias Found = SealedRecords<StoredOfflineKey>.Record

    /// - Parameter isInteractive: Whether to prompt for the passphrase of an archive that was written before a session
    ///   ended.
    /// - Returns: The key; `nil` if the user has no key yet, or if the key must first be stored with
    ///   ``makeKey(of:knowing:at:in:)``.
    func key(of user: Account, isInteractive: Bool = false) async throws -> OfflineKey? {
        let found = try await found(isInteractive: isInteractive) { try await records.archive.storage.read($0) }
        return found.first { $0.payload.owner == user.owner && !$0.payload.isSigningOut }.map { OfflineKey($0) }
    }

    /// Returns the user's key, and creates the key if it is missing. The caller must have loaded the user's account in
    /// this transaction. `known` is a key that was opened with a passphrase of the user. This function encrypts it with
    /// the keys of the archive.
    func makeKey(
        of user: Account, knowing known: OfflineKey?, at date: Date, in transaction: any ArchiveTransaction
    ) async throws -> OfflineKey {
        let found = try await found { try await transaction.read($0) }
        var mine = found.first { $0.payload.owner == user.owner }
        if let mine, !mine.payload.isSigningOut { return OfflineKey(mine) }
        if mine == nil, let known = known?.record, try await transaction.read(known.entry)?.revision == known.revision {
            mine = known
        }
        var entry = mine?.entry
        for free in records.entries where entry == nil {
            if try await transaction.read(free) == nil { entry = free }
        }
        guard let entry else {
            throw AccountError(
                .inaccessible,
                "\(Self.maximumCount) users of this session have unsent changes, so there is no room for another user. "
                    + "Sign in as one of them, send the changes or sign out, and try again")
        }
        // A mark belongs to a sign-out that did not complete, so keep the key without the mark.
        let key = mine?.payload.key ?? Secret(GuardedBytes.random(count: 32), range: 0..<32)
        return OfflineKey(
            try await records.write(
                StoredOfflineKey(key, of: user, createdAt: date), to: entry, ifRevision: mine?.revision, at: date,
                in: transaction))
    }

    func isAnyThere() async throws -> Bool {
        for entry in records.entries where try await records.archive.storage.read(entry) != nil { return true }
        return false
    }

    func isCurrent(_ key: OfflineKey) async throws -> Bool {
        guard let stored = try await records.archive.storage.read(key.record.entry) else { return false }
        if stored.revision == key.record.revision { return true }
        // The archive has new keys, or the entry now contains the key of another user.
        return try await records.open(stored.bytes).payload.isSame(as: key.record.payload)
    }

    // MARK: Signing out

    /// Marks a user's key before the account is removed, so that a crash between these two steps leaves no usable key.
    func markForRemoval(of user: Account, at date: Date, in transaction: any ArchiveTransaction) async throws {
        for var mine in try await found({ try await transaction.read($0) }) where mine.payload.owner == user.owner {
            mine.payload.isSigningOut = true
            try await records.write(
                mine.payload, to: mine.entry, ifRevision: mine.revision, at: date, in: transaction)
        }
    }

    func remove(of user: Account, in transaction: any ArchiveTransaction) async throws {
        try await remove(in: transaction) { $0.owner == user.owner }
    }

    func removeMarked(in transaction: any ArchiveTransaction) async throws {
        try await remove(in: transaction) { $0.isSigningOut }
    }

    private func remove(in transaction: any ArchiveTransaction, where isToGo: (StoredOfflineKey) -> Bool) async throws {
        for found in try await found({ try await transaction.read($0) }) where isToGo(found.payload) {
            _ = try await transaction.remove(found.entry, ifRevision: found.revision)
        }
    }

    // MARK: Moving

    func stored(in transaction: any ArchiveTransaction) async throws -> [[UInt8]] {
        var stored: [[UInt8]] = []
        for entry in records.entries {
            if let bytes = try await transaction.read(entry)?.bytes { stored.append(bytes) }
        }
        return stored
    }

    struct Change: Sendable {
        let entry: ArchiveEntry
        let bytes: [UInt8]

        let revision: ArchiveRevision?
    }

    /// Returns the changes that store keys from another storage in this storage. `keys` are the keys of the other
    /// storage's archive.
    func changes(
        for incoming: [[UInt8]], _ keys: ArchiveKeys, in transaction: any ArchiveTransaction
    ) async throws -> [Change] {
        guard !incoming.isEmpty else { return [] }
        var free: [ArchiveEntry] = []
        var here: [(entry: ArchiveEntry, stored: StoredEntry, key: StoredOfflineKey?)] = []
        for entry in records.entries {
            guard let stored = try await transaction.read(entry) else {
                free.append(entry)
                continue
            }
            here.append((entry, stored, try await key(in: stored.bytes, keys)))
        }
        var changes: [Change] = []
        for bytes in incoming where !here.contains(where: { $0.stored.bytes == bytes }) {
            if let key = try await key(in: bytes, keys),
                let same = here.first(where: { $0.key?.owner == key.owner })
            {
                guard same.key?.key == key.key else {
                    throw AccountError(
                        .conflict,
                        "this user's offline data is encrypted with one key here and with another there, and a move would "
                            + "lose one of the keys",
                        hint: "sign in there and sign out again, which discards the data there, then try again")
                }
                changes.append(Change(entry: same.entry, bytes: bytes, revision: same.stored.revision))
                continue
            }
            guard !free.isEmpty else {
                throw AccountError(
                    .inaccessible,
                    "there is no room for the keys of offline data, since \(Self.maximumCount) users have unsent changes "
                        + "there",
                    hint: "sign in there as one of them and send the changes, or sign out, which discards them"
                )
            }
            changes.append(Change(entry: free.removeFirst(), bytes: bytes, revision: nil))
        }
        return changes
    }

    func remove(storedIn other: [[UInt8]], in transaction: any ArchiveTransaction) async throws {
        var keys: [StoredOfflineKey] = []
        for bytes in other {
            if let key = try await key(in: bytes) { keys.append(key) }
        }
        for entry in records.entries {
            guard let stored = try await transaction.read(entry) else { continue }
            let mine = try await key(in: stored.bytes)
            let isThere =
                other.contains(stored.bytes)
                || mine.map { mine in keys.contains { $0.isSame(as: mine) } } ?? false
            if isThere { _ = try await transaction.remove(entry, ifRevision: stored.revision) }
        }
    }

    private func key(in bytes: [UInt8], _ keys: ArchiveKeys? = nil) async throws -> StoredOfflineKey? {
        do {
            return try await records.open(bytes, before: keys).payload
        } catch let error as AccountError where error.isAboutContent {
            return nil
        }
    }

    private func found(
        isInteractive: Bool = false, _ read: (ArchiveEntry) async throws -> StoredEntry?
    ) async throws -> [Found] {
        var found: [Found] = []
        for entry in records.entries {
            do {
                guard let record = try await records.record(entry, isInteractive: isInteractive, read) else { continue }
                found.append(record)
            } catch let error as AccountError where error.isAboutContent {
                continue
            }
        }
        return found
    }
}
