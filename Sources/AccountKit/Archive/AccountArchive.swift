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
    private let keySource: any KeySource
    private let context: SealingContext
    private let logger: Logger?

    /// The keys of the archive that was opened last, so that a save or a second load asks for no key.
    private let keys = Mutex<ArchiveKeys?>(nil)

    /// New tokens that could not be saved.
    private let unsaved = Mutex<Unsaved?>(nil)

    private struct Unsaved {
        var account: Account

        /// The revision whose tokens were spent for them.
        var revision: ArchiveRevision

        /// Whether they are being spent themselves, so that the record of the intent is about them.
        var isBeingSpent = false
    }

    init(storage: any ArchiveStorage, keySource: any KeySource, context: SealingContext, logger: Logger?) {
        self.storage = storage
        self.keySource = keySource
        self.context = context
        self.logger = logger
    }

    // MARK: Reading

    /// Reads without a lock and without writing anything.
    func load() async -> Content {
        await content { try await self.storage.read($0) }
    }

    /// Reads what is there now, for whoever holds the lock.
    func load(in transaction: any ArchiveTransaction) async -> Content {
        let content = await content { try await transaction.read($0) }
        // Who holds the lock sees the newest revision: what was to replace an older one is of no use any more.
        switch content {
        case .absent: unsaved.withLock { $0 = nil }
        case .present(_, let revision): unsaved.withLock { if $0?.revision != revision { $0 = nil } }
        case .unreadable: break
        }
        return content
    }

    private func content(_ read: (ArchiveEntry) async throws -> StoredEntry?) async -> Content {
        do {
            guard let stored = try await read(.account) else {
                return .absent(await signOut(read))
            }
            if let unsaved = unsaved.withLock({ $0 }), unsaved.revision == stored.revision {
                return .present(unsaved.account, stored.revision)
            }
            let account = try await open(stored.bytes).account
            return .present(account, stored.revision)
        } catch let error as AccountError {
            return .unreadable(error)
        } catch {
            return .unreadable(AccountError(.inaccessible, "the archive cannot be read", cause: error))
        }
    }

    /// Why nobody is signed in. That nobody is does not depend on whether the record can be read.
    private func signOut(_ read: (ArchiveEntry) async throws -> StoredEntry?) async -> SignOut {
        do {
            return SignOutRecord.decode(try await read(.signOut)?.bytes)
        } catch {
            logger?.warning("the reason of the last sign-out cannot be read", metadata: ["error": "\(error)"])
            return .neverSignedIn
        }
    }

    private func open(_ bytes: [UInt8]) async throws -> (account: Account, envelope: Envelope, keys: ArchiveKeys) {
        do {
            let envelope = try Envelope(parsing: try ArchivePropertyList.decode(bytes))
            let keys = try await keys(for: envelope)
            let (plaintext, count) = try envelope.open(with: keys, context: context)
            return (try AccountPlaintext.decode(plaintext, count: count), envelope, keys)
        } catch let error as EnvelopeError {
            throw AccountError(error)
        }
    }

    private func keys(for envelope: Envelope) async throws -> ArchiveKeys {
        let known = keys.withLock { $0 }
        if let known, known.storeID == envelope.storeID, known.dataKeyID == envelope.dataKeyID,
            known.slots == envelope.slots
        {
            return known
        }
        guard let key = try await keySource.key() else {
            throw AccountError(
                .noKey, "there is an account archive, and no key to open it: put the key back, or sign in again")
        }
        let opened = try envelope.unlock(with: key.opener, kind: keySource.kind.slotKind, context: context)
        keys.withLock { $0 = opened }
        return opened
    }

    // MARK: The refresh intent

    /// Records that the refresh token is about to be spent, so that a crash before the reply is stored can be told.
    ///
    /// - Returns: When the last one was recorded, if that was not forgotten since; then it stays.
    func recordIntent(at date: Date, in transaction: any ArchiveTransaction) async throws -> Date? {
        unsaved.withLock { $0?.isBeingSpent = true }
        let previous = try await transaction.read(.refreshIntent)
        if let unfinished = previous.flatMap({ RefreshIntent.decode($0.bytes) }) { return unfinished.date }
        let bytes = try RefreshIntent(date: date).encode()
        _ = try await transaction.replace(.refreshIntent, with: bytes, ifRevision: previous?.revision)
        return nil
    }

    /// Forgets it: the reply is stored, or there was none to store.
    func forgetIntent(in transaction: any ArchiveTransaction) async throws {
        guard let revision = try await transaction.read(.refreshIntent)?.revision else { return }
        _ = try await transaction.remove(.refreshIntent, ifRevision: revision)
    }

    /// When a refresh was begun whose reply was never stored; `nil` if there is none.
    func unfinishedRefresh() async throws -> Date? {
        guard let stored = try await storage.read(.refreshIntent) else { return nil }
        return RefreshIntent.decode(stored.bytes)?.date
    }

    // MARK: Writing, for whoever holds the lock

    /// Remembers new tokens whose save failed: as long as the revision stays, they are the account's, since the tokens
    /// that are stored were spent for them.
    func keepUnsaved(_ account: Account, ifRevision revision: ArchiveRevision) {
        unsaved.withLock { $0 = Unsaved(account: account, revision: revision) }
    }

    /// Saves an account, if the stored revision still is `revision`; `nil` means that there is no archive.
    ///
    /// - Returns: The account with all of its tokens in one piece of guarded memory, and the storage's receipt.
    func save(
        _ account: Account, ifRevision revision: ArchiveRevision?, at date: Date, in transaction: any ArchiveTransaction
    ) async throws -> (account: Account, receipt: ArchiveReceipt) {
        let generation: UInt64
        let keys: ArchiveKeys
        if let revision {
            guard let stored = try await transaction.read(.account), stored.revision == revision else {
                throw AccountError(.conflict, "the archive was changed by another process meanwhile: try again")
            }
            let opened = try await open(stored.bytes)
            // At the largest number there is it stays; the revision tells the writes apart all the same.
            generation = opened.envelope.generation == .max ? .max : opened.envelope.generation + 1
            keys = opened.keys
        } else {
            generation = 1
            keys = try await makeKeys(at: date)
        }
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
        self.keys.withLock { $0 = keys }
        if let unsaved = unsaved.withLock({ $0.take() }), !unsaved.isBeingSpent {
            try? await forgetIntent(in: transaction)
        }
        return (account, receipt)
    }

    /// The keys of a new archive: a new lineage and a new data key, opened by the source's key, which is made if need be.
    private func makeKeys(at date: Date) async throws -> ArchiveKeys {
        let key: ArchiveKey
        if let existing = try await keySource.key() {
            key = existing
        } else {
            key = try await keySource.makeKey()
        }
        // Without its key the archive would be worth nothing.
        try (keySource as? KeyFile)?.settle()
        do {
            return try ArchiveKeys(
                for: key.opener, kind: keySource.kind.slotKind,
                created: UInt32(clamping: Int64(date.timeIntervalSince1970)), context: context)
        } catch {
            throw AccountError(error)
        }
    }

    /// Makes sure that an account of about the stored one's size can be saved, and that there is a key for it.
    ///
    /// Done before anything is spent that could not be had again if the save failed.
    func prepareSave(at date: Date, in transaction: any ArchiveTransaction) async throws {
        if try await keySource.key() == nil { _ = try await keySource.makeKey() }
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
        do {
            let previous = try await transaction.read(.signOut)?.revision
            _ = try await transaction.replace(.signOut, with: try SignOutRecord.encode(signOut), ifRevision: previous)
        } catch {
            logger?.warning("the reason of a sign-out could not be recorded", metadata: ["error": "\(error)"])
        }
        let durability = try await transaction.remove(.account, ifRevision: revision)
        keys.withLock { $0 = nil }
        unsaved.withLock { $0 = nil }
        return durability
    }

    /// Forgets why the last session ended and whether its refresh token was being spent, now that there is a new one. A
    /// record too many is harmless.
    func forgetLastSession(in transaction: any ArchiveTransaction) async {
        for entry in [ArchiveEntry.signOut, .refreshIntent] {
            guard let stored = try? await transaction.read(entry) else { continue }
            _ = try? await transaction.remove(entry, ifRevision: stored.revision)
        }
    }

    /// Puts an archive that cannot be read out of the way, for a new sign-in.
    ///
    /// - Returns: Where it is now.
    func setAside(at date: Date, in transaction: any ArchiveTransaction) async throws -> String {
        let stamp = date.formatted(
            Date.ISO8601FormatStyle(dateSeparator: .omitted, dateTimeSeparator: .standard, timeSeparator: .omitted))
        return try await transaction.setAside(.account, label: "unreadable-\(stamp)")
    }

    /// Undoes that, because the new sign-in could not be saved.
    func putBack(from place: String, in transaction: any ArchiveTransaction) async throws {
        try await transaction.putBack(.account, from: place)
    }
}

extension AccountError {
    /// What a failure to open an envelope means to whoever wants the account.
    init(_ error: EnvelopeError) {
        switch error {
        case .damaged(let what):
            self.init(
                .damaged,
                "Account.plist is not a whole account archive: \(what). Nobody was signed out; put a backup back, or sign in again"
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
