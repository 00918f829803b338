import AccountCrypto
import Synchronization

/// What a vault knows of its storage: the archive that was opened or written last, so that a save or a second read needs no
/// key and does not open the archive again.
final class VaultMemory: Sendable {
    private struct State {
        var keys: ArchiveKeys?
        var newest: OpenedArchive?

        /// The number of changes, so that a slow read does not undo later changes.
        var changeCount = 0

        var hasFittingKey = true

        mutating func change(_ keys: ArchiveKeys?, _ newest: OpenedArchive?) {
            self.keys = keys
            self.newest = newest
            changeCount += 1
        }
    }

    private let state = Mutex(State())

    /// The last keys. After a sign-out they may still be needed for the revocation queue.
    var keys: ArchiveKeys? { state.withLock(\.keys) }
    var changeCount: Int { state.withLock(\.changeCount) }

    /// Whether the last read without the lock did not fail for lack of a key that opens the archive. After such a failure,
    /// AccountKit does not ask the user again before it acquires the lock.
    var hasFittingKey: Bool {
        get { state.withLock(\.hasFittingKey) }
        set { state.withLock { $0.hasFittingKey = newValue } }
    }

    func archive(of revision: ArchiveRevision) -> OpenedArchive? {
        state.withLock { $0.newest?.revision == revision ? $0.newest : nil }
    }

    /// Replaces the known archive, unless the memory has changed since `changeCount`, which is `nil` for a read under
    /// the lock. Returns the new number of changes if the archive was replaced; otherwise `changeCount`.
    @discardableResult
    func replace(with newest: OpenedArchive, readSince changeCount: Int? = nil) -> Int {
        state.withLock { state in
            if let changeCount, state.changeCount != changeCount { return changeCount }
            state.change(newest.keys, newest)
            return state.changeCount
        }
    }

    func replaceKeys(with keys: ArchiveKeys) { state.withLock { $0.change(keys, nil) } }

    func forgetAccount() { state.withLock { $0.change($0.keys, nil) } }
}

struct OpenedArchive: Sendable {
    var account: Account
    var generation: UInt64
    var keys: ArchiveKeys
    var revision: ArchiveRevision

    /// The size of the encrypted archive, in bytes.
    var byteCount: Int

    /// The generation of the next write. The largest possible generation is repeated, since the revision still
    /// distinguishes the writes.
    var nextGeneration: UInt64 { generation == .max ? .max : generation + 1 }
}
