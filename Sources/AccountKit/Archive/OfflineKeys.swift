package import AccountCrypto

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The key for the offline data of a user on this machine, such as lists and unsent changes.
package struct OfflineKey: Sendable {
    /// Encrypts and decrypts the data.
    package let seal: RowSeal

    let user: Account
    let place: ArchiveEntry
    let revision: ArchiveRevision
    let secret: Secret

    init(_ account: Account, _ place: ArchiveEntry, _ revision: ArchiveRevision) {
        user = account
        secret = account.credentials.accessToken
        seal = RowSeal(
            key: secret.withUnsafeBytes { GuardedBytes(copying: $0) }, owner: [account.issuer ?? "", account.id])
        self.place = place
        self.revision = revision
    }
}

/// The keys for offline data of the users of a session, encrypted beside the account.
///
/// A key is 32 random bytes. It is independent of the data key, which changes when a key of the archive is removed. If the service ends the
/// session, the key stays, so that unsent changes are kept for the next sign-in. A sign-out destroys the key, and with it all data that it
/// encrypts.
struct OfflineKeys: Sendable {
    /// How many users of a session can have unsent changes at the same time.
    static let maximumCount = 8

    /// The field of a record whose user is signing out. The key is removed with the account or, after a crash, at the next sign-in.
    private static let mark = "isSigningOut"

    private static let places = SealedRecords.places("Offline", count: maximumCount)

    let records: SealedRecords

    init(archive: AccountArchive, appIdentifier: String, session: SessionName) {
        // Not bound to a shared storage: a move also copies keys that do not open now.
        records = SealedRecords(
            at: Self.places, purpose: "offline", name: "the key of the offline data",
            archive: archive,
            appIdentifier: appIdentifier, session: session)
    }

    private struct Found {
        let place: ArchiveEntry
        let revision: ArchiveRevision
        let record: Account
        var isMarked: Bool { record.profile[OfflineKeys.mark] != nil }
    }

    /// - Parameter isInteractive: Whether the user may be asked for the passphrase of an earlier archive, from before the service ended a
    ///   session.
    /// - Returns: `nil` if the user has none yet, or one that must first be stored with ``makeKey(of:knowing:at:in:)``.
    func key(of user: Account, isInteractive: Bool = false) async throws -> OfflineKey? {
        let found = try await found(isInteractive: isInteractive) { try await records.archive.storage.read($0) }
        guard let mine = found.first(where: { $0.record.isSameUser(as: user) && !$0.isMarked }) else { return nil }
        return OfflineKey(mine.record, mine.place, mine.revision)
    }

    /// Returns the user's key, and creates a missing one. The caller has loaded the user's account in this transaction.
    ///
    /// - Parameter known: A key that a passphrase of the user opened. It is now encrypted with the keys of the archive.
    func makeKey(
        of user: Account, knowing known: OfflineKey?, at date: Date, in transaction: any ArchiveTransaction
    ) async throws -> OfflineKey {
        let found = try await found { try await transaction.read($0) }
        var mine = found.first { $0.record.isSameUser(as: user) }
        if let mine, !mine.isMarked { return OfflineKey(mine.record, mine.place, mine.revision) }
        if mine == nil, let known, try await transaction.read(known.place)?.revision == known.revision {
            mine = Found(place: known.place, revision: known.revision, record: known.user)
        }
        var place = mine?.place
        for free in records.places where place == nil {
            if try await transaction.read(free) == nil { place = free }
        }
        guard let place else {
            throw AccountError(
                .inaccessible,
                "\(Self.maximumCount) users of this session have left changes that were not sent: nothing can be kept for a further "
                    + "one. Sign in as one of them, send the changes or sign out, and try again")
        }
        // A mark belongs to a sign-out that did not complete, so the key stays without the mark.
        let secret = mine?.record.credentials.accessToken ?? Secret(GuardedBytes.random(count: 32), range: 0..<32)
        let record = Account(
            id: user.id, issuer: user.issuer,
            credentials: Credentials(accessToken: secret, tokenType: "offline", issuedAt: date))
        let (bytes, stored) = try records.codec.seal(record, with: try await records.archive.keysBeside(at: date))
        let receipt = try await transaction.replace(place, with: bytes, ifRevision: mine?.revision)
        return OfflineKey(stored, place, receipt.revision)
    }

    /// Whether there is a key of any user.
    func isAnyThere() async throws -> Bool {
        for place in records.places where try await records.archive.storage.read(place) != nil { return true }
        return false
    }

    /// Whether a key still belongs to its user.
    func isCurrent(_ key: OfflineKey) async throws -> Bool {
        guard let stored = try await records.archive.storage.read(key.place) else { return false }
        if stored.revision == key.revision { return true }
        // The archive has new keys, or the key belongs to another user now.
        let record = try await records.open(stored.bytes).account
        return record.isSameUser(as: key.user) && record.credentials.accessToken == key.secret
    }

    // MARK: Signing out

    /// Marks a user's key before the account is removed, so that a crash before the key is removed leaves no usable key.
    func markForRemoval(of user: Account, at date: Date, in transaction: any ArchiveTransaction) async throws {
        for mine in try await found({ try await transaction.read($0) }) where mine.record.isSameUser(as: user) {
            var record = mine.record
            record.profile[Self.mark] = .boolean(true)
            let (bytes, _) = try records.codec.seal(record, with: try await records.archive.keysBeside(at: date))
            _ = try await transaction.replace(mine.place, with: bytes, ifRevision: mine.revision)
        }
    }

    func remove(of user: Account, in transaction: any ArchiveTransaction) async throws {
        try await remove(in: transaction) { $0.record.isSameUser(as: user) }
    }

    /// Removes keys that a crash during a sign-out left behind.
    func removeMarked(in transaction: any ArchiveTransaction) async throws {
        try await remove(in: transaction) { $0.isMarked }
    }

    private func remove(in transaction: any ArchiveTransaction, where isToGo: (Found) -> Bool) async throws {
        for found in try await found({ try await transaction.read($0) }) where isToGo(found) {
            _ = try await transaction.remove(found.place, ifRevision: found.revision)
        }
    }

    // MARK: Moving

    /// Returns the stored keys of all users, encrypted.
    func stored(in transaction: any ArchiveTransaction) async throws -> [[UInt8]] {
        var stored: [[UInt8]] = []
        for place in records.places {
            if let bytes = try await transaction.read(place)?.bytes { stored.append(bytes) }
        }
        return stored
    }

    struct Change: Sendable {
        let place: ArchiveEntry
        let bytes: [UInt8]

        /// The revision to replace; `nil` if there is none.
        let revision: ArchiveRevision?
    }

    /// Returns the changes that store keys from another storage here.
    ///
    /// - Parameter keys: The keys of the other storage's archive.
    /// - Throws: `conflict` if a user has another key here, and `inaccessible` if there is no room.
    func changes(
        for incoming: [[UInt8]], _ keys: ArchiveKeys, in transaction: any ArchiveTransaction
    ) async throws -> [Change] {
        guard !incoming.isEmpty else { return [] }
        var free: [ArchiveEntry] = []
        var here: [(place: ArchiveEntry, stored: StoredEntry, record: Account?)] = []
        for place in records.places {
            guard let stored = try await transaction.read(place) else {
                free.append(place)
                continue
            }
            here.append((place, stored, try await record(stored.bytes, keys)))
        }
        var changes: [Change] = []
        for bytes in incoming where !here.contains(where: { $0.stored.bytes == bytes }) {
            if let record = try await record(bytes, keys),
                let same = here.first(where: { $0.record?.isSameUser(as: record) == true })
            {
                guard same.record?.credentials.accessToken == record.credentials.accessToken else {
                    throw AccountError(
                        .conflict,
                        "offline data of this user is sealed with one key here and with another there, and one of the two would be "
                            + "lost: sign in there and out again, which discards what it has, then try again")
                }
                changes.append(Change(place: same.place, bytes: bytes, revision: same.stored.revision))
                continue
            }
            guard !free.isEmpty else {
                throw AccountError(
                    .inaccessible,
                    "there is no room for the keys of offline data, since \(Self.maximumCount) users have left changes there that were "
                        + "not sent: sign in there as one of them and send the changes, or sign out, which discards them"
                )
            }
            changes.append(Change(place: free.removeFirst(), bytes: bytes, revision: nil))
        }
        return changes
    }

    /// Removes the keys that another storage has too.
    func remove(storedIn other: [[UInt8]], in transaction: any ArchiveTransaction) async throws {
        var secrets: [Account] = []
        for bytes in other {
            if let record = try await record(bytes, nil) { secrets.append(record) }
        }
        for place in records.places {
            guard let stored = try await transaction.read(place) else { continue }
            let mine = try await record(stored.bytes, nil)
            let isThere =
                other.contains(stored.bytes)
                || mine.map { mine in
                    secrets.contains {
                        $0.isSameUser(as: mine) && $0.credentials.accessToken == mine.credentials.accessToken
                    }
                } ?? false
            if isThere { _ = try await transaction.remove(place, ifRevision: stored.revision) }
        }
    }

    /// Opens a record; `nil` if it does not open.
    private func record(_ bytes: [UInt8], _ keys: ArchiveKeys?) async throws -> Account? {
        do {
            return try await records.open(bytes, before: keys).account
        } catch let error as AccountError where error.isAboutContent {
            return nil
        }
    }

    func reseal(
        with keys: ArchiveKeys, before: ArchiveKeys, in transaction: any ArchiveTransaction
    ) async throws {
        try await records.reseal(with: keys, before: before, in: transaction)
    }

    /// Returns the records that open. Others stay unchanged.
    private func found(
        isInteractive: Bool = false, _ read: (ArchiveEntry) async throws -> StoredEntry?
    ) async throws -> [Found] {
        var found: [Found] = []
        for place in records.places {
            do {
                guard let stored = try await read(place) else { continue }
                let record = try await records.open(stored.bytes, isInteractive: isInteractive).account
                found.append(Found(place: place, revision: stored.revision, record: record))
            } catch let error as AccountError where error.isAboutContent {
                continue
            }
        }
        return found
    }
}
