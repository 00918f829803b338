package import AccountCrypto
import AccountSupport

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
typealias OfflineKeys = SealedRecords<StoredOfflineKey>

extension OfflineKeys {
    init(vault: Vault, in transaction: (any ArchiveTransaction)? = nil) {
        self.init(
            at: ArchiveEntry.offlineKeys, purpose: "offline", name: "the key of the offline data", vault: vault,
            in: transaction)
    }

    /// - Parameter isInteractive: Whether to prompt for the passphrase of an archive that was written before a session
    ///   ended.
    /// - Returns: The key; `nil` if the user has no key yet, or if the key must first be stored with
    ///   ``makeKey(of:knowing:)``.
    func key(of user: Account, isInteractive: Bool = false) async throws -> OfflineKey? {
        try await found(isInteractive: isInteractive)
            .first { $0.payload.owner == user.owner && !$0.payload.isSigningOut }.map { OfflineKey($0) }
    }

    /// Returns the user's key, and creates the key if it is missing. The caller must have loaded the user's account in
    /// this transaction. `known` is a key that was opened with a passphrase of the user. This function encrypts it with
    /// the keys of the archive.
    func makeKey(of user: Account, knowing known: OfflineKey?) async throws -> OfflineKey {
        var mine = try await found().first { $0.payload.owner == user.owner }
        if let mine, !mine.payload.isSigningOut { return OfflineKey(mine) }
        if mine == nil, let known = known?.record, try await stored(known.entry)?.revision == known.revision {
            mine = known
        }
        var entry = mine?.entry
        for free in entries where entry == nil {
            if try await stored(free) == nil { entry = free }
        }
        guard let entry else {
            throw AccountError(
                .inaccessible,
                "\(entries.count) users of this session have unsent changes, so there is no room for another user. "
                    + "Sign in as one of them, send the changes or sign out, and try again")
        }
        // A mark belongs to a sign-out that did not complete, so keep the key without the mark.
        let key = mine?.payload.key ?? Secret(GuardedBytes.random(count: 32), range: 0..<32)
        return OfflineKey(
            try await write(
                StoredOfflineKey(key, of: user, createdAt: vault.clock.now), to: entry, ifRevision: mine?.revision))
    }

    func isAnyThere() async throws -> Bool {
        for entry in entries where try await stored(entry) != nil { return true }
        return false
    }

    func isCurrent(_ key: OfflineKey) async throws -> Bool {
        guard let stored = try await stored(key.record.entry) else { return false }
        if stored.revision == key.record.revision { return true }
        // The archive has new keys, or the entry now contains the key of another user.
        return try await open(stored.bytes).payload.isSame(as: key.record.payload)
    }

    // MARK: Signing out

    func entries(of user: Account) async throws -> [ArchiveEntry] {
        try await found().filter { $0.payload.owner == user.owner }.map(\.entry)
    }

    /// Marks a user's key before the account is removed, so that a crash between these two steps leaves no usable key.
    func markForRemoval(of user: Account) async throws {
        for var mine in try await found() where mine.payload.owner == user.owner {
            mine.payload.isSigningOut = true
            try await write(mine.payload, to: mine.entry, ifRevision: mine.revision)
        }
    }

    func remove(of user: Account) async throws {
        for found in try await found() where found.payload.owner == user.owner { try await remove(found) }
    }

    func removeMarked() async throws {
        for found in try await found() where found.payload.isSigningOut { try await remove(found) }
    }

    private func found(isInteractive: Bool = false) async throws -> [Record] {
        var found: [Record] = []
        for entry in entries {
            do {
                guard let record = try await record(entry, isInteractive: isInteractive) else { continue }
                found.append(record)
            } catch let error as AccountError where error.isAboutContent {
                continue
            }
        }
        return found
    }
}

struct StoredOfflineKey: Sendable {
    let owner: AccountOwner

    /// The key: 32 random bytes.
    let key: Secret

    let createdAt: Date

    /// Whether the user is signing out. The key is removed with the account or, after a crash, at the next sign-in.
    var isSigningOut = false

    init(_ key: Secret, of user: Account, createdAt: Date) {
        owner = user.owner
        self.key = key
        self.createdAt = createdAt
    }

    func isSame(as other: StoredOfflineKey) -> Bool { owner == other.owner && key == other.key }
}

/// The record has the layout of an account's record, and the key has the tag of an access token.
extension StoredOfflineKey: SealedPayload {
    static var sealedName: String { "a key of offline data" }

    var sealedRecord: [String: ProfileValue] {
        var record: [String: ProfileValue] = [
            "id": .string(owner.id), "tokenType": .string("offline"), "issuedAt": .date(createdAt),
        ]
        record["issuer"] = owner.issuer.map { .string($0) }
        if isSigningOut { record["profile"] = .dictionary(["isSigningOut": .boolean(true)]) }
        return record
    }

    var sealedSecrets: [SealedSecret] { [SealedSecret(.accessToken, key)] }

    init(record: [String: ProfileValue], secrets: [SealedSecret]) throws(RecordPropertyList.Malformed) {
        guard secrets.count == 1, secrets[0].tag == .accessToken, let userID = try record.text("id"),
            try record.text("tokenType") == "offline", let createdAt = try record.date("issuedAt")
        else { throw RecordPropertyList.unusable }
        owner = AccountOwner(id: userID, issuer: try record.text("issuer"))
        self.createdAt = createdAt
        key = secrets[0].secret
        isSigningOut = try record.dictionary("profile")?["isSigningOut"] != nil
    }
}
