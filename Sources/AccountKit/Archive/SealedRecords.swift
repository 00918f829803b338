import AccountCrypto

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Encrypted entries beside the account. Each is an archive with the keys of the account, so that it needs no other key. Its context is not
/// that of a session, so that it cannot replace the account under another name.
struct SealedRecords<Payload: SealedPayload>: Sendable {
    /// A stored entry, opened.
    struct Record: Sendable {
        let entry: ArchiveEntry
        let revision: ArchiveRevision
        var payload: Payload

        /// The keys that opened or encrypted the entry; `nil` for those of the account.
        var keys: ArchiveKeys?
    }

    let entries: [ArchiveEntry]
    let archive: AccountArchive
    let codec: ArchiveCodec

    /// The name of the entries in messages.
    private let name: String

    /// - Parameters:
    ///   - entries: The entries; see ``entries(_:count:)``.
    ///   - purpose: The part of the context that distinguishes these entries from others.
    ///   - name: The name of the entries in messages.
    ///   - sharedPlace: The name of a storage that machines share, which the records are bound to; `nil` for none.
    init(
        at entries: [ArchiveEntry], purpose: String, name: String, archive: AccountArchive, appIdentifier: String,
        session: SessionName, sharedPlace: String? = nil
    ) {
        self.entries = entries
        self.archive = archive
        self.name = name
        // The name of a session cannot contain a slash.
        codec = ArchiveCodec(
            context: SealingContext(
                appIdentifier: appIdentifier, sessionName: session.rawValue + "/" + purpose, place: sharedPlace))
    }

    static func entries(_ prefix: String, count: Int) -> [ArchiveEntry] {
        (1...count).map { ArchiveEntry(rawValue: "\(prefix)-\($0).plist") }
    }

    /// - Parameters:
    ///   - before: The keys of the account before a change of keys.
    ///   - isInteractive: Whether to prompt for a passphrase; never under the lock.
    func open(
        _ bytes: [UInt8], before: ArchiveKeys? = nil, isInteractive: Bool = false
    ) async throws -> (payload: Payload, keys: ArchiveKeys) {
        let envelope = try codec.envelope(in: bytes)
        let keys = try await archive.keysBeside(of: envelope, before: before, isInteractive: isInteractive)
        return (try codec.open(envelope, with: keys), keys)
    }

    /// Reads an entry and opens it.
    ///
    /// - Returns: `nil` if there is none.
    func record(
        _ entry: ArchiveEntry, isInteractive: Bool = false, _ read: (ArchiveEntry) async throws -> StoredEntry?
    ) async throws -> Record? {
        guard let stored = try await read(entry) else { return nil }
        let (payload, keys) = try await open(stored.bytes, isInteractive: isInteractive)
        return Record(entry: entry, revision: stored.revision, payload: payload, keys: keys)
    }

    /// Encrypts a payload and writes the entry.
    ///
    /// - Parameters:
    ///   - revision: The revision to replace; `nil` if there is no entry.
    ///   - keys: The keys to encrypt with; `nil` for those of the account.
    ///   - date: The current date.
    @discardableResult
    func write(
        _ payload: Payload, to entry: ArchiveEntry, ifRevision revision: ArchiveRevision?,
        with keys: ArchiveKeys? = nil, at date: Date, in transaction: any ArchiveTransaction
    ) async throws -> Record {
        var keys = keys
        if keys == nil { keys = try await archive.keysBeside(at: date) }
        let (bytes, sealed) = try codec.seal(payload, with: keys!)
        let receipt = try await transaction.replace(entry, with: bytes, ifRevision: revision)
        return Record(entry: entry, revision: receipt.revision, payload: sealed, keys: keys)
    }

    /// Encrypts the entries with other keys of the account. Entries that do not open stay unchanged.
    ///
    /// - Throws: An error if an entry cannot be read, since it would be lost with the old key.
    func reseal(
        with keys: ArchiveKeys, before: ArchiveKeys, in transaction: any ArchiveTransaction
    ) async throws {
        for entry in entries {
            let stored: StoredEntry
            let payload: Payload
            do {
                guard let found = try await transaction.read(entry) else { continue }
                stored = found
                payload = try await open(stored.bytes, before: before).payload
            } catch let error as AccountError where error.isAboutContent {
                continue
            }
            let (bytes, _) = try codec.seal(payload, with: keys)
            let receipt = try await transaction.replace(entry, with: bytes, ifRevision: stored.revision)
            if case .unknown(let reason) = receipt.durability {
                throw AccountError(
                    .durabilityUnknown,
                    "the disk did not confirm that \(name) survives a power cut (\(reason)): the previous keys were kept; try "
                        + "again once the disk is healthy")
            }
        }
    }
}
