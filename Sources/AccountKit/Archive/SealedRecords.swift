import AccountCrypto

/// Encrypted entries beside the account. Each is an archive with the keys of the account, so that it needs no other key. Its context is not
/// that of a session, so that it cannot replace the account under another name.
struct SealedRecords: Sendable {
    let places: [ArchiveEntry]
    let archive: AccountArchive
    let codec: ArchiveCodec

    /// The name of the entries in messages.
    private let name: String

    /// - Parameters:
    ///   - places: The entries; see ``places(_:count:)``.
    ///   - purpose: The part of the context that distinguishes these entries from others.
    ///   - name: The name of the entries in messages.
    ///   - sharedPlace: The name of a storage that machines share, which the records are bound to; `nil` for none.
    init(
        at places: [ArchiveEntry], purpose: String, name: String, archive: AccountArchive, appIdentifier: String,
        session: SessionName, sharedPlace: String? = nil
    ) {
        self.places = places
        self.archive = archive
        self.name = name
        // The name of a session cannot contain a slash.
        codec = ArchiveCodec(
            context: SealingContext(
                appIdentifier: appIdentifier, sessionName: session.rawValue + "/" + purpose, place: sharedPlace))
    }

    static func places(_ prefix: String, count: Int) -> [ArchiveEntry] {
        (1...count).map { ArchiveEntry(rawValue: "\(prefix)-\($0).plist") }
    }

    func open(
        _ bytes: [UInt8], before: ArchiveKeys? = nil, isInteractive: Bool = false
    ) async throws -> (account: Account, keys: ArchiveKeys) {
        let envelope = try codec.envelope(in: bytes)
        let keys = try await archive.keysBeside(of: envelope, before: before, isInteractive: isInteractive)
        return (try codec.open(envelope, with: keys), keys)
    }

    /// Encrypts the entries with other keys of the account. Entries that do not open stay unchanged.
    ///
    /// - Throws: An error if an entry cannot be read, since it would be lost with the old key.
    func reseal(
        with keys: ArchiveKeys, before: ArchiveKeys, in transaction: any ArchiveTransaction
    ) async throws {
        for place in places {
            let stored: StoredEntry
            let account: Account
            do {
                guard let found = try await transaction.read(place) else { continue }
                stored = found
                account = try await open(stored.bytes, before: before).account
            } catch let error as AccountError where error.isAboutContent {
                continue
            }
            let (bytes, _) = try codec.seal(account, with: keys)
            let receipt = try await transaction.replace(place, with: bytes, ifRevision: stored.revision)
            if case .unknown(let reason) = receipt.durability {
                throw AccountError(
                    .durabilityUnknown,
                    "the disk did not confirm that \(name) survives a power cut (\(reason)): the previous keys were kept; try "
                        + "again once the disk is healthy")
            }
        }
    }
}
