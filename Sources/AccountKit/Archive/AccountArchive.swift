import Logging
import Sealing
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Sealed accounts in a storage: what stands between the session life and bytes.
final class AccountArchive: Sendable {
    /// What there is.
    enum Content: Sendable {
        case absent(SignOut)
        case present(Account, ArchiveRevision)
        case unreadable(AccountError)

        var account: Account? { if case .present(let account, _) = self { account } else { nil } }
    }

    let storage: any ArchiveStorage
    let ring: KeyRing
    let context: SealingContext
    private let logger: Logger?

    /// The archive that was opened last, so that a save or a second load asks for no key, and opens nothing twice.
    private let lastOpened = Mutex(LastOpened())

    /// Whether a person was asked for the key, and did not know it.
    private let isAskedInVain = Mutex(false)

    /// New tokens that could not be saved.
    let unsaved = Mutex<Unsaved?>(nil)

    /// Those that never will be, since they are of a sign-in that is over.
    let orphans = Mutex<[Account]>([])

    private struct LastOpened {
        var keys: ArchiveKeys?

        /// What these keys opened or sealed last; `nil` once nobody is signed in, so that the tokens are gone. The keys may
        /// still be needed for what is to be told to the service.
        var newest: Write?

        /// Counts the changes, so that a read that ends late does not undo what came after it began.
        private(set) var changeCount = 0

        mutating func change(_ keys: ArchiveKeys?, _ newest: Write? = nil) {
            self.keys = keys
            self.newest = newest
            changeCount += 1
        }
    }

    /// One write of the archive.
    private struct Write {
        var account: Account
        var generation: UInt64
        var revision: ArchiveRevision
    }

    init(storage: any ArchiveStorage, keySources: [any KeySource], context: SealingContext, logger: Logger?) {
        self.storage = storage
        ring = KeyRing(keySources, logger: logger)
        self.context = context
        self.logger = logger
    }

    // MARK: Reading

    /// Reads without a lock and without writing anything.
    func load() async -> Content {
        let content = await content(isLocked: false) { try await self.storage.read($0) }
        isAskedInVain.withLock { isAskedInVain in
            if case .unreadable(let error) = content { isAskedInVain = error.isAboutKey } else { isAskedInVain = false }
        }
        return content
    }

    /// Asks for a passphrase before the lock is taken, where others would wait; once, if nobody knows it.
    func askBeforeLock() async {
        guard ring.sources.contains(where: \.asksPerson), !isAskedInVain.withLock({ $0 }),
            // Who takes the lock says why there is none.
            let envelope = try? await envelope(), knownKeys(for: envelope) == nil
        else { return }
        _ = await load()
    }

    /// Reads what is there now, for whoever holds the lock.
    func load(in transaction: any ArchiveTransaction) async -> Content {
        let content = await content(isLocked: true) { try await transaction.read($0) }
        // Who holds the lock sees the newest revision: what was to replace an older one never will.
        switch content {
        case .absent: orphanUnsaved()
        case .present(_, let revision): orphanUnsaved(unlessFor: revision)
        case .unreadable: break
        }
        return content
    }

    /// - Parameter isLocked: Whether nobody else changes anything meanwhile. Then what is read is the newest, and nobody is
    ///   asked for a passphrase, since others would wait.
    private func content(
        isLocked: Bool, _ read: (ArchiveEntry) async throws -> StoredEntry?
    ) async -> Content {
        let changeCount = isLocked ? nil : lastOpened.withLock(\.changeCount)
        do {
            guard var stored = try await read(.account) else { return await absent(read) }
            if let unsaved = unsavedAccount(for: stored.revision, isLocked: isLocked) {
                return .present(unsaved, stored.revision)
            }
            if let newest = lastOpened.withLock(\.newest), newest.revision == stored.revision {
                return .present(withUnsaved(newest.account, stored.revision, isLocked: isLocked), stored.revision)
            }
            while true {
                do {
                    let (account, envelope, keys) = try await open(stored.bytes, asksPerson: !isLocked)
                    let write = Write(account: account, generation: envelope.generation, revision: stored.revision)
                    lastOpened.withLock { last in
                        if isLocked || last.changeCount == changeCount { last.change(keys, write) }
                    }
                    return .present(withUnsaved(account, stored.revision, isLocked: isLocked), stored.revision)
                } catch let error as AccountError where error.isAboutKey {
                    // The key may have been replaced between the two: then the archive is another one too.
                    guard let newer = try await read(.account) else { return await absent(read) }
                    guard newer.revision != stored.revision else { throw error }
                    stored = newer
                }
            }
        } catch let error as AccountError {
            return .unreadable(error)
        } catch {
            return .unreadable(AccountError(.inaccessible, "the archive cannot be read", cause: error))
        }
    }

    /// The stored account with the tokens that could not be saved, if another process has changed something else of it.
    private func withUnsaved(_ stored: Account, _ revision: ArchiveRevision, isLocked: Bool) -> Account {
        unsaved.withLock { unsaved in
            guard let credentials = unsaved?.account.credentials, unsaved!.stored.isSameGrant(as: stored) else {
                return stored
            }
            var account = stored
            account.credentials = credentials
            account.verifiedAt = unsaved!.account.verifiedAt
            // Without the lock there may be a newer one by now.
            if isLocked {
                unsaved!.account = account
                unsaved!.revision = revision
                unsaved!.isSeenUnderLock = true
            }
            return account
        }
    }

    /// Nobody is signed in, and why. That nobody is does not depend on whether the record of the reason can be read.
    private func absent(_ read: (ArchiveEntry) async throws -> StoredEntry?) async -> Content {
        lastOpened.withLock { $0.change($0.keys) }
        do {
            return .absent(SignOutRecord.decode(try await read(.signOut)?.bytes))
        } catch {
            logger?.warning("the reason of the last sign-out cannot be read", metadata: ["error": "\(error)"])
            return .absent(.neverSignedIn)
        }
    }

    /// - Parameter asksPerson: Not under the lock, where others would wait.
    func open(
        _ bytes: [UInt8], asksPerson: Bool = false
    ) async throws -> (account: Account, envelope: Envelope, keys: ArchiveKeys) {
        do {
            let envelope = try Envelope(parsing: try ArchivePropertyList.decode(bytes))
            let keys = try await keys(for: envelope, asksPerson: asksPerson)
            let (plaintext, count) = try envelope.open(with: keys, context: context)
            return (try AccountPlaintext.decode(plaintext, count: count), envelope, keys)
        } catch let error as EnvelopeError {
            throw AccountError(error)
        }
    }

    private func keys(for envelope: Envelope, asksPerson: Bool) async throws(AccountError) -> ArchiveKeys {
        if let known = knownKeys(for: envelope) { return known }
        return try await ring.unlock(envelope, context: context, asksPerson: asksPerson)
    }

    /// Opens this archive with one of these from now on.
    func use(_ openers: Openers, for envelope: Envelope) {
        for slot in envelope.slots {
            guard let opener = openers[slot.keyID],
                let keys = try? envelope.unlock(slot, with: opener, context: context)
            else { continue }
            return lastOpened.withLock { $0.change(keys) }
        }
    }

    private func knownKeys(for envelope: Envelope) -> ArchiveKeys? {
        guard let known = lastOpened.withLock(\.keys), known.storeID == envelope.storeID,
            known.dataKeyID == envelope.dataKeyID, known.slots == envelope.slots
        else { return nil }
        return known
    }

    // MARK: Beside the archive

    /// Seals what goes with the account for another context: with the account's keys, so that nobody is asked for one. For
    /// whoever has loaded the account in this transaction. Where there is no account, with new keys of the same sources.
    func seal(_ account: Account, context: SealingContext, at date: Date) async throws -> [UInt8] {
        if let keys = lastOpened.withLock(\.keys) { return try seal(account, keys: keys, context: context) }
        guard !ring.sources.contains(where: { $0.kind == .passphrase }) else {
            throw AccountError(
                .noKey, "there is no archive whose keys it could be sealed with, and nobody to ask for one")
        }
        return try seal(account, keys: try await ring.makeKeys(at: date, context: self.context), context: context)
    }

    func seal(_ account: Account, keys: ArchiveKeys, context: SealingContext) throws -> [UInt8] {
        let (plaintext, _) = try AccountPlaintext.encode(account)
        return ArchivePropertyList.encode(
            sealed: Envelope.seal(plaintext, generation: 1, keys: keys, context: context))
    }

    /// Opens what was sealed so.
    ///
    /// - Parameters:
    ///   - bytes: What was sealed.
    ///   - context: For what.
    ///   - before: Keys of the account from before they were changed.
    ///   - asksPerson: Whether a person may be asked for a passphrase.
    func openAside(
        _ bytes: [UInt8], context: SealingContext, before: ArchiveKeys? = nil, asksPerson: Bool = false
    ) async throws -> (account: Account, keys: ArchiveKeys) {
        let envelope = try Envelope(parsing: try ArchivePropertyList.decode(bytes))
        // Other slots than the account's, such as those from before a key was added, have the same data key behind them.
        var keys = [lastOpened.withLock(\.keys), before].compactMap(\.self).first {
            $0.storeID == envelope.storeID && $0.dataKeyID == envelope.dataKeyID
        }
        if keys == nil { keys = try await ring.unlock(envelope, context: self.context, asksPerson: asksPerson) }
        let (plaintext, count) = try envelope.open(with: keys!, context: context)
        return (try AccountPlaintext.decode(plaintext, count: count), keys!)
    }

    // MARK: The record of refreshes

    /// Records that the refresh token is about to be spent, so that a crash before the response is stored can be told.
    ///
    /// - Parameters:
    ///   - date: Now.
    ///   - deadline: Until when the response is waited for.
    ///   - transaction: The caller's.
    /// - Returns: When one was sent before whose response was never stored; then that stays the date of the record.
    func recordIntent(at date: Date, until deadline: Date, in transaction: any ArchiveTransaction) async throws -> Date?
    {
        unsaved.withLock { $0?.isBeingSpent = true }
        let previous = try await transaction.read(.refreshRecord)
        var record = previous.flatMap { RefreshRecord.decode($0.bytes) } ?? RefreshRecord()
        let unfinished = record.date
        record.date = unfinished ?? date
        record.deadline = deadline
        _ = try await transaction.replace(
            .refreshRecord, with: try record.encode(), ifRevision: previous?.revision)
        return unfinished
    }

    /// Records that a refresh failed, and when the next one is due.
    ///
    /// - Parameters:
    ///   - reason: Why.
    ///   - mayBeSpent: Whether the refresh token may have been spent for it, or for one before.
    ///   - date: Now.
    ///   - transaction: The caller's.
    func recordFailure(
        _ reason: UnverifiedReason, mayBeSpent: Bool, at date: Date, in transaction: any ArchiveTransaction
    ) async throws {
        let previous = try await transaction.read(.refreshRecord)
        var record = previous.flatMap { RefreshRecord.decode($0.bytes) } ?? RefreshRecord()
        if !mayBeSpent { record.date = nil }
        record.fail(reason, at: date, jitter: .random(in: 0.5...1))
        _ = try await transaction.replace(
            .refreshRecord, with: try record.encode(), ifRevision: previous?.revision)
    }

    /// Forgets the record: the response is stored, or there was none to store.
    func forgetRefreshes(in transaction: any ArchiveTransaction) async throws {
        guard let revision = try await transaction.read(.refreshRecord)?.revision else { return }
        _ = try await transaction.remove(.refreshRecord, ifRevision: revision)
    }

    /// The record, if there is one.
    func refreshRecord() async throws -> RefreshRecord? {
        try await storage.read(.refreshRecord).flatMap { RefreshRecord.decode($0.bytes) }
    }

    // MARK: Writing, for whoever holds the lock

    /// Saves an account, if the stored revision still is `revision`; `nil` means that there is no archive.
    ///
    /// - Returns: The account with all of its tokens in one piece of guarded memory, and the storage's receipt.
    func save(
        _ account: Account, ifRevision revision: ArchiveRevision?, at date: Date, in transaction: any ArchiveTransaction
    ) async throws -> (account: Account, receipt: ArchiveReceipt) {
        guard let revision else {
            let keys = try await ring.makeKeys(at: date, context: context)
            return try await write(account, generation: 1, keys: keys, ifRevision: nil, in: transaction)
        }
        // What was opened a moment ago need not be opened again: the storage compares the revision.
        let last = lastOpened.withLock { $0 }
        if let keys = last.keys, let newest = last.newest, newest.revision == revision {
            return try await write(
                account, generation: newest.generation.next, keys: keys, ifRevision: revision, in: transaction)
        }
        guard let stored = try await transaction.read(.account), stored.revision == revision else {
            throw AccountError(.conflict, "the archive was changed by another process meanwhile: try again")
        }
        let (_, envelope, keys) = try await open(stored.bytes)
        return try await write(
            account, generation: envelope.generation.next, keys: keys, ifRevision: revision, in: transaction)
    }

    func write(
        _ account: Account, generation: UInt64, keys: ArchiveKeys, ifRevision revision: ArchiveRevision?,
        in transaction: any ArchiveTransaction
    ) async throws -> (account: Account, receipt: ArchiveReceipt) {
        let (plaintext, account) = try AccountPlaintext.encode(account)
        let bytes = ArchivePropertyList.encode(
            sealed: Envelope.seal(plaintext, generation: generation, keys: keys, context: context))
        guard bytes.count <= ArchivePropertyList.maximumByteCount else {
            throw AccountError(
                .tooLarge,
                "the account takes \(bytes.count) bytes, an archive holds \(ArchivePropertyList.maximumByteCount): keep "
                    + "large profile fields elsewhere")
        }
        let receipt = try await transaction.replace(.account, with: bytes, ifRevision: revision)
        let newest = Write(account: account, generation: generation, revision: receipt.revision)
        lastOpened.withLock { $0.change(keys, newest) }
        let unsaved = noteWritten(account, receipt.revision)
        if unsaved.isOver { try? await forgetRefreshes(in: transaction) }
        return (unsaved.account ?? account, receipt)
    }

    /// Looks after the tokens that could not be saved, now that something was.
    ///
    /// - Returns: Whether the record of their refresh is of no use any more, or else the account with them: whoever has saved
    ///   the spent ones once more had read them before.
    private func noteWritten(_ account: Account, _ revision: ArchiveRevision) -> (isOver: Bool, account: Account?) {
        unsaved.withLock { unsaved in
            guard let kept = unsaved else { return (false, nil) }
            guard kept.stored.isSameGrant(as: account) else {
                give(up: &unsaved)
                return (!kept.isBeingSpent, nil)
            }
            var account = account
            account.credentials = kept.account.credentials
            account.verifiedAt = kept.account.verifiedAt
            unsaved!.account = account
            unsaved!.revision = revision
            return (false, account)
        }
    }

    /// Makes sure that an account of about the stored one's size can be saved, and that there is a key for it.
    ///
    /// Done before anything is spent that could not be had again if the save failed.
    func prepareSave(in transaction: any ArchiveTransaction) async throws {
        let stored = try? await transaction.read(.account)
        try await transaction.reserve(.account, byteCount: (stored?.bytes.count ?? 0) + 32 * 1024)
    }

    /// Records why, and removes the account.
    ///
    /// The record comes first, so that a crash between the two does not lose the reason; it counts only once there is no
    /// account. A record that cannot be written, for instance since the disk is full, does not keep anyone signed in.
    func clear(
        _ signOut: SignOut, ifRevision revision: ArchiveRevision, in transaction: any ArchiveTransaction
    ) async throws -> ArchiveReceipt.Durability {
        await record(signOut, in: transaction)
        let durability = try await transaction.remove(.account, ifRevision: revision)
        forgetAccount()
        return durability
    }

    /// Records why the session ended, if that can be done.
    func record(_ signOut: SignOut, in transaction: any ArchiveTransaction) async {
        do {
            let previous = try await transaction.read(.signOut)?.revision
            _ = try await transaction.replace(.signOut, with: try SignOutRecord.encode(signOut), ifRevision: previous)
        } catch {
            logger?.warning("the reason of a sign-out could not be recorded", metadata: ["error": "\(error)"])
        }
    }

    /// Forgets what is in memory of an account that is not stored any more.
    func forgetAccount() {
        // The keys may still be needed for what is to be told to the service.
        let keys = lastOpened.withLock { last in
            last.change(last.keys)
            return last.keys
        }
        for slot in keys?.slots ?? [] where slot.kind == .passphrase {
            // It goes by itself, and opens nothing any more.
            try? UnlockedKeys.forget(slot.keyID)
        }
        unsaved.withLock { give(up: &$0) }
    }

    /// Forgets why the last session ended and whether its refresh token was being spent, now that there is a new one. A
    /// record too many is harmless.
    func forgetLastSession(in transaction: any ArchiveTransaction) async {
        for entry in [ArchiveEntry.signOut, .refreshRecord] {
            guard let stored = try? await transaction.read(entry) else { continue }
            _ = try? await transaction.remove(entry, ifRevision: stored.revision)
        }
    }

    /// Puts an archive that cannot be read out of the way, for a new sign-in.
    ///
    /// - Returns: Where it is now.
    func quarantine(at date: Date, in transaction: any ArchiveTransaction) async throws -> String {
        let stamp = date.formatted(
            Date.ISO8601FormatStyle(dateSeparator: .omitted, dateTimeSeparator: .standard, timeSeparator: .omitted))
        return try await transaction.quarantine(.account, label: "unreadable-\(stamp)")
    }

    /// Undoes that, because the new sign-in could not be saved.
    func restore(from place: String, in transaction: any ArchiveTransaction) async throws {
        try await transaction.restore(.account, from: place)
    }
}

extension UInt64 {
    /// The generation after this one. At the largest number there is it stays; the revision tells the writes apart.
    var next: UInt64 { self == .max ? .max : self + 1 }
}

extension AccountError {
    /// Whether the archive does not open with the keys that there are.
    fileprivate var isAboutKey: Bool { code == .wrongKeyOrDamaged || code == .noKey }

    /// What a failure to open an envelope means to whoever wants the account.
    init(_ error: EnvelopeError) {
        switch error {
        case .damaged(let what):
            self.init(
                .damaged,
                "Account.plist is truncated or not an account archive: \(what). Nobody was signed out; put a backup back, or sign in again"
            )
        case .unsupported(let what):
            self.init(
                .unsupportedVersion, "Account.plist was written by a later version (\(what)): update this program")
        case .wrongKeyOrDamaged:
            self.init(
                .wrongKeyOrDamaged,
                "Account.plist does not open: the key is not the one that it was sealed with, it is another app's or "
                    + "session's, or it was changed. Nobody was signed out; put the right file back, or sign in again")
        case .noSlot(let kind):
            self.init(
                .noKey, "Account.plist has no slot for a key of the kind \(kind): open it with the key that it has")
        case .unfitKey(let kind):
            self.init(
                .invalidArgument,
                "a key of the kind \(kind) cannot be made from this: a passphrase makes a passphrase's key only, any other "
                    + "has 32 bytes")
        case .outOfMemory:
            self.init(.inaccessible, "there is not enough memory to derive the passphrase's key")
        }
    }
}
