import Logging
import AccountCrypto
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The encrypted account of a session in a storage.
final class AccountArchive: Sendable {
    let reader: ArchiveReader
    let unsaved = UnsavedTokens()
    let journal: RefreshJournal
    private let cache = OpenedArchiveCache()

    /// Whether the last read without the lock found no key that opens the archive. If so, AccountKit does not ask the
    /// user again before it acquires the lock.
    private let noKeyFitted = Mutex(false)

    var storage: any ArchiveStorage { reader.storage }
    var ring: KeyRing { reader.ring }
    var codec: ArchiveCodec { reader.codec }
    var logger: Logger? { reader.logger }
    var isShared: Bool { codec.context.isBoundToPlace }

    init(_ reader: ArchiveReader) {
        self.reader = reader
        journal = RefreshJournal(storage: reader.storage, logger: reader.logger)
    }

    // MARK: Reading

    /// Reads the account without a lock. In the result, tokens that this process could not save replace the stored
    /// tokens.
    func load() async -> ArchiveReader.Content {
        let content = await content(isLocked: false) { try await self.storage.read($0) }
        noKeyFitted.withLock { noKeyFitted in
            if case .unreadable(let error) = content { noKeyFitted = error.isAboutKey } else { noKeyFitted = false }
        }
        return content
    }

    /// Asks the user or a program for the key before AccountKit acquires the lock, unless the last key did not open the
    /// archive.
    func askBeforeLock() async {
        guard ring.sources.contains(where: \.asksOutside), !noKeyFitted.withLock({ $0 }),
            // If there is no key, the transaction reports the error.
            let envelope = try? await envelope(), knownKeys(for: envelope) == nil
        else { return }
        _ = await load()
    }

    func load(in transaction: any ArchiveTransaction) async -> ArchiveReader.Content {
        let content = await content(isLocked: true) { try await transaction.read($0) }
        // The holder of the lock sees the newest revision, so unsaved tokens for an older revision are obsolete.
        switch content {
        case .absent: unsaved.orphan(unlessFor: nil)
        case .present(_, let revision): unsaved.orphan(unlessFor: revision)
        case .unreadable: break
        }
        return content
    }

    /// Returns the account; `nil` if there is none. Throws if the archive cannot be opened.
    func account(in transaction: any ArchiveTransaction) async throws(AccountError) -> Account? {
        switch await load(in: transaction) {
        case .present(let account, _): return account
        case .absent: return nil
        case .unreadable(let error): throw error
        }
    }

    /// - Parameter isLocked: Whether the caller holds the lock. If so, the content is current, and this function does
    ///   not ask the user for a passphrase.
    private func content(
        isLocked: Bool, _ read: (ArchiveEntry) async throws -> StoredEntry?
    ) async -> ArchiveReader.Content {
        var changeCount = 0
        return await reader.content { entry in
            changeCount = cache.changeCount
            let stored = try await read(entry)
            if stored == nil, entry == .account { cache.forgetAccount() }
            return stored
        } opening: { stored in
            if let account = unsaved.account(for: stored.revision, isLocked: isLocked) { return account }
            let opened: OpenedArchive
            if let cached = cache.archive(of: stored.revision) {
                opened = cached
            } else {
                opened = try await open(stored, isInteractive: !isLocked)
                changeCount = cache.replace(with: opened, readSince: isLocked ? nil : changeCount)
            }
            let account = unsaved.merged(into: opened.account, stored.revision, isLocked: isLocked)
            // Otherwise this process has written the archive since the read, and may have saved the unsaved tokens.
            return isLocked || cache.changeCount == changeCount ? account : nil
        }
    }

    func opened(_ revision: ArchiveRevision, in transaction: any ArchiveTransaction) async throws -> OpenedArchive {
        // The cached archive is sufficient, since a write compares the revision.
        if let opened = cache.archive(of: revision) { return opened }
        guard let stored = try await transaction.read(.account), stored.revision == revision else {
            throw AccountError(.conflict, "another process changed the archive", hint: "try again")
        }
        return try await open(stored, isInteractive: false)
    }

    private func open(_ stored: StoredEntry, isInteractive: Bool) async throws -> OpenedArchive {
        try await reader.open(stored, isInteractive: isInteractive, knownKeys: knownKeys)
    }

    private func knownKeys(for envelope: Envelope) -> ArchiveKeys? {
        cache.keys.flatMap { $0.isOfSameData(as: envelope) && $0.slots == envelope.slots ? $0 : nil }
    }

    func envelope() async throws -> Envelope? {
        guard let stored = try await storage.read(.account) else { return nil }
        return try codec.envelope(in: stored.bytes)
    }

    func use(_ keys: ArchiveKeys) { cache.replaceKeys(with: keys) }

    // MARK: Keys for entries beside the account

    /// Returns the keys of the account. The caller has loaded the account in this transaction, so this function does
    /// not ask the user. If there is no account, it returns new keys of the same sources.
    func keysBeside(at date: Date) async throws(AccountError) -> ArchiveKeys {
        if let keys = cache.keys { return keys }
        guard !ring.sources.contains(where: { $0.kind == .passphrase }) else {
            throw AccountError(
                .noKey,
                "cannot store the tokens to revoke: there is no account archive whose keys could encrypt them, and the user "
                    + "cannot be prompted for the passphrase")
        }
        return try await ring.makeKeys(at: date)
    }

    /// Returns the keys that open an entry beside the account. `before` contains the keys of the account before a
    /// change of keys.
    func keysBeside(
        of envelope: Envelope, before: ArchiveKeys?, isInteractive: Bool
    ) async throws(AccountError) -> ArchiveKeys {
        // Archives with different slots, for example from before a key was added, may have the same data key.
        for known in [cache.keys, before] {
            if let known, known.isOfSameData(as: envelope) { return known }
        }
        return try await ring.unlock(envelope, isInteractive: isInteractive)
    }

    // MARK: Writing under the lock

    /// The number of bytes that stay free in an archive, so that the next tokens fit even if they are longer.
    private static let headRoom = 16 * 1024

    /// Saves an account if the stored revision is `revision`; `nil` means that there is no archive. New tokens may use
    /// the headroom, unless `leavesRoom` is `true`. Other changes must leave the headroom free. If an archive already
    /// uses it, these changes must not enlarge the archive. All tokens of the returned account are in one piece of
    /// guarded memory.
    func save(
        _ account: Account, ifRevision revision: ArchiveRevision?, at date: Date, leavesRoom: Bool = false,
        in transaction: any ArchiveTransaction
    ) async throws -> (account: Account, receipt: ArchiveReceipt) {
        let limit = ArchivePropertyList.maximumByteCount - Self.headRoom
        guard let revision else {
            let keys = try await ring.makeKeys(at: date)
            return try await write(
                account, generation: 1, keys: keys, ifRevision: nil, limit: leavesRoom ? limit : nil, in: transaction)
        }
        let opened = try await opened(revision, in: transaction)
        let isSameGrant = account.isSameGrant(as: opened.account)
        return try await write(
            account, generation: opened.nextGeneration, keys: opened.keys, ifRevision: revision,
            limit: leavesRoom ? limit : isSameGrant ? max(limit, opened.byteCount) : nil, in: transaction)
    }

    func write(
        _ account: Account, generation: UInt64, keys: ArchiveKeys, ifRevision revision: ArchiveRevision?,
        limit: Int? = nil, in transaction: any ArchiveTransaction
    ) async throws -> (account: Account, receipt: ArchiveReceipt) {
        let (bytes, account) = try codec.seal(
            account, generation: generation, with: keys, limit: limit ?? ArchivePropertyList.maximumByteCount)
        let receipt = try await transaction.replace(.account, with: bytes, ifRevision: revision)
        cache.replace(
            with: OpenedArchive(
                account: account, generation: generation, keys: keys, revision: receipt.revision, byteCount: bytes.count
            ))
        let kept = unsaved.noteWritten(account, receipt.revision)
        // A record that is not removed does no harm.
        if kept.isOver { try? await journal.forget(in: transaction) }
        return (kept.account ?? account, receipt)
    }

    /// Reserves space to save an account of about the stored size, before a token or code is spent. Throws `tooLarge`
    /// if longer tokens would not fit, even after ``Account/makeRoom()``.
    func prepareSave(in transaction: any ArchiveTransaction) async throws {
        // An archive that cannot be read counts as 0 bytes.
        let stored = try? await transaction.read(.account)
        let limit = ArchivePropertyList.maximumByteCount - Self.headRoom
        if let stored, stored.bytes.count > limit, let opened = cache.archive(of: stored.revision) {
            var bare = opened.account
            while bare.makeRoom() {}
            _ = try codec.seal(bare, with: opened.keys, limit: limit)
        }
        try await transaction.reserve(.account, byteCount: (stored?.bytes.count ?? 0) + 32 * 1024)
    }

    /// Records the reason, and then removes the account and its refresh record. In this order, a crash does not lose
    /// the reason. The reason has no effect while there is an account. If the reason cannot be written, the account is
    /// removed anyway.
    func clear(
        _ signOut: SignOut, ifRevision revision: ArchiveRevision, in transaction: any ArchiveTransaction
    ) async throws -> ArchiveReceipt.Durability {
        await record(signOut, in: transaction)
        let durability = try await transaction.remove(.account, ifRevision: revision)
        forgetAccount()
        // Without an account the record has no effect, and the next sign-in removes it.
        try? await journal.forget(in: transaction)
        return durability
    }

    func record(_ signOut: SignOut, in transaction: any ArchiveTransaction) async {
        do {
            try await SignOutRecord.write(signOut, in: transaction)
        } catch {
            logger?.warning("the reason for a sign-out could not be recorded", metadata: ["error": "\(error)"])
        }
    }

    func forgetAccount() {
        cache.forgetAccount()
        for slot in cache.keys?.slots ?? [] where slot.kind == .passphrase {
            // A failure does no harm: the cached key expires, and no longer opens the archive.
            try? UnlockedKeys.forget(slot.keyID)
        }
        unsaved.drop()
    }

    /// Removes the records of the last session after a new sign-in. A record that is not removed does no harm.
    func forgetLastSession(in transaction: any ArchiveTransaction) async {
        for entry in [ArchiveEntry.signOut, .refreshRecord] {
            try? await transaction.discard(entry)
        }
    }

    func quarantine(at date: Date, in transaction: any ArchiveTransaction) async throws -> String {
        let stamp = date.formatted(
            Date.ISO8601FormatStyle(dateSeparator: .omitted, dateTimeSeparator: .standard, timeSeparator: .omitted))
        return try await transaction.quarantine(.account, label: "unreadable-\(stamp)")
    }
}

extension ArchiveTransaction {
    /// Removes an entry if it exists.
    func discard(_ entry: ArchiveEntry) async throws {
        guard let revision = try await read(entry)?.revision else { return }
        _ = try await remove(entry, ifRevision: revision)
    }

    /// Moves aside an entry other than the account, because the entry cannot be opened.
    func quarantineLeftover(_ entry: ArchiveEntry, because error: AccountError, _ logger: Logger?) async throws {
        let place = try await quarantine(entry, label: "unreadable")
        _ = try await finishQuarantine(entry)
        logger?.notice(
            "an entry that does not open was moved aside", metadata: ["to": "\(place)", "error": "\(error)"])
    }
}

extension AccountError {
    /// If several machines share the storage, another machine may have the key, so no message advises a new sign-in.
    init(_ error: EnvelopeError, isShared: Bool) {
        switch error {
        case .damaged(let what) where isShared:
            self.init(
                .damaged,
                "the archive in the shared store is truncated or not an account archive: \(what). You are not signed out, and "
                    + "nothing was changed; restore a backup of the store")
        case .damaged(let what):
            self.init(
                .damaged,
                "Account.plist is truncated or not an account archive: \(what). You are not signed out; restore a backup, or sign in again"
            )
        case .unsupported(let what):
            self.init(
                .unsupportedVersion, "Account.plist was written by a later version (\(what)): update this program")
        case .authenticationFailed where isShared:
            self.init(
                .authenticationFailed,
                "the archive in the shared store does not open here: this machine and the machine that wrote it have different "
                    + "keys, or the entry was changed or copied from another place. You are not signed out, and nothing was "
                    + "changed; install the key that the other machines use")
        case .authenticationFailed:
            self.init(
                .authenticationFailed,
                "Account.plist does not open: the key is wrong, the file belongs to another app or session, or it was "
                    + "changed. You are not signed out; restore the right file, or sign in again")
        case .unfitKey(let kind):
            self.init(
                .invalidArgument,
                "\(KeyKind(kind).text) cannot be created from this value: a passphrase slot requires a passphrase, and "
                    + "any other slot requires a key of 32 bytes")
        case .outOfMemory:
            self.init(.inaccessible, "there is not enough memory to derive the passphrase's key")
        }
    }
}
