import AccountCrypto

/// Encrypted entries beside the account. Each entry is an archive with the keys of the account, so that it needs no
/// other key. Its context differs from that of the account, so that the entry cannot replace the account under another
/// name.
///
/// The records of a ``VaultDraft`` read and change the entries under the lock. Those of a ``Vault`` only read.
struct SealedRecords<Payload: SealedPayload>: Sendable {
    struct Record: Sendable {
        let entry: ArchiveEntry
        let revision: ArchiveRevision
        var payload: Payload

        /// The keys that opened or encrypted the entry; `nil` for the keys of the account.
        var keys: ArchiveKeys?
    }

    let entries: [ArchiveEntry]
    let vault: Vault
    let context: SealingContext

    private let name: String
    private let transaction: (any ArchiveTransaction)?

    /// Creates the records for some entries. `purpose` distinguishes the context from other contexts. `sharedPlace`
    /// binds the records to a shared storage.
    init(
        at entries: [ArchiveEntry], purpose: String, name: String, vault: Vault,
        in transaction: (any ArchiveTransaction)?, sharedPlace: String? = nil
    ) {
        self.entries = entries
        self.vault = vault
        self.name = name
        self.transaction = transaction
        // The name of a session cannot contain a slash.
        context = SealingContext(
            appIdentifier: vault.appIdentifier, sessionName: vault.session.rawValue + "/" + purpose, place: sharedPlace)
    }

    func stored(_ entry: ArchiveEntry) async throws -> StoredEntry? {
        if let transaction { try await transaction.read(entry) } else { try await vault.storage.read(entry) }
    }

    private var change: any ArchiveTransaction {
        guard let transaction else { preconditionFailure("records are changed under the lock") }
        return transaction
    }

    /// Decrypts an entry. `before` contains the keys of the account before a change of keys. Under the lock,
    /// `isInteractive` must be `false`.
    func open(
        _ bytes: [UInt8], before: ArchiveKeys? = nil, isInteractive: Bool = false
    ) async throws -> (payload: Payload, keys: ArchiveKeys) {
        let envelope = try context.envelope(in: bytes)
        let keys = try await vault.keysBeside(of: envelope, before: before, isInteractive: isInteractive)
        return (try context.open(envelope, with: keys), keys)
    }

    func record(_ entry: ArchiveEntry, isInteractive: Bool = false) async throws -> Record? {
        guard let stored = try await stored(entry) else { return nil }
        let (payload, keys) = try await open(stored.bytes, isInteractive: isInteractive)
        return Record(entry: entry, revision: stored.revision, payload: payload, keys: keys)
    }

    /// Returns the records that can be read and opened now. Without the lock, this may include a record of a sign-out in
    /// progress.
    func readable(isInteractive: Bool = false) async -> [Record] {
        var records: [Record] = []
        for entry in entries {
            if let record = try? await record(entry, isInteractive: isInteractive) { records.append(record) }
        }
        return records
    }

    /// Encrypts a payload and writes the entry. If `keys` is `nil`, this function uses the keys of the account.
    @discardableResult
    func write(
        _ payload: Payload, to entry: ArchiveEntry, ifRevision revision: ArchiveRevision?, with keys: ArchiveKeys? = nil
    ) async throws -> Record {
        let keys = if let keys { keys } else { try await vault.keysBeside() }
        let (bytes, sealed) = try context.seal(payload, with: keys)
        let receipt = try await change.replace(entry, with: bytes, ifRevision: revision)
        return Record(entry: entry, revision: receipt.revision, payload: sealed, keys: keys)
    }

    func remove(_ record: Record) async throws {
        _ = try await change.remove(record.entry, ifRevision: record.revision)
    }

    /// Encrypts the entries with other keys of the account. Entries that do not open stay unchanged. If an entry cannot
    /// be read, throws an error, since the entry would be lost with the old key.
    func reseal(with keys: ArchiveKeys, before: ArchiveKeys) async throws {
        for entry in entries {
            let stored: StoredEntry
            let payload: Payload
            do {
                guard let found = try await self.stored(entry) else { continue }
                stored = found
                payload = try await open(stored.bytes, before: before).payload
            } catch let error as AccountError where error.isAboutContent {
                continue
            }
            let (bytes, _) = try context.seal(payload, with: keys)
            let receipt = try await change.replace(entry, with: bytes, ifRevision: stored.revision)
            if case .unknown(let reason) = receipt.durability {
                throw AccountError(
                    .durabilityUnknown,
                    "the disk did not confirm that \(name) survives a power cut (\(reason)): the previous keys were kept; try "
                        + "again once the disk is healthy")
            }
        }
    }
}

extension ArchiveEntry {
    static let revocations = records("Revocation")
    static let offlineKeys = records("Offline")
    static let keptProfiles = records("Account-Profile")

    private static func records(_ prefix: String) -> [ArchiveEntry] {
        (1...8).map { ArchiveEntry(rawValue: "\(prefix)-\($0).plist") }
    }
}
