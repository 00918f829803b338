import AccountCrypto

/// What is stored beside the account, sealed: a few places, each an archive of its own with the account's keys, so that no key is
/// asked for, and for a context that is no session's, so that none can stand in for the account by another name.
struct SealedRecords: Sendable {
    let places: [ArchiveEntry]
    let archive: AccountArchive
    let codec: ArchiveCodec

    /// What they are, for a person.
    private let name: String

    /// - Parameters:
    ///   - places: Where they are; see ``places(_:count:)``.
    ///   - purpose: Tells the context from those of others.
    ///   - name: What they are, for a person.
    ///   - sharedPlace: The place in a store that machines share; `nil` does not bind the records to it.
    init(
        at places: [ArchiveEntry], purpose: String, name: String, archive: AccountArchive, appIdentifier: String,
        session: SessionName, sharedPlace: String? = nil
    ) {
        self.places = places
        self.archive = archive
        self.name = name
        // No session has a slash in its name.
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

    /// Seals what is there with other keys of the account, and leaves what does not open.
    ///
    /// - Throws: If something cannot be read now: with the old key it would be lost.
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
