import AccountCrypto
import Synchronization

struct OpenedArchive: Sendable {
    var account: Account
    var generation: UInt64
    var keys: ArchiveKeys
    var revision: ArchiveRevision

    /// The size of the sealed archive.
    var byteCount: Int

    /// The generation of the next write. At the largest number there is it stays; the revision tells the writes apart.
    var nextGeneration: UInt64 { generation == .max ? .max : generation + 1 }
}

/// The archive that was opened or written last, so that a save or a second load asks for no key, and opens nothing twice.
final class OpenedArchiveCache: Sendable {
    private struct State {
        var keys: ArchiveKeys?
        var newest: OpenedArchive?

        /// Counts the changes, so that a read that ends late does not undo what came after it began.
        var changeCount = 0

        mutating func change(_ keys: ArchiveKeys?, _ newest: OpenedArchive?) {
            self.keys = keys
            self.newest = newest
            changeCount += 1
        }
    }

    private let state = Mutex(State())

    /// The last keys; they may still be needed for what is to be told to the service once nobody is signed in.
    var keys: ArchiveKeys? { state.withLock(\.keys) }
    var changeCount: Int { state.withLock(\.changeCount) }

    func archive(of revision: ArchiveRevision) -> OpenedArchive? {
        state.withLock { $0.newest?.revision == revision ? $0.newest : nil }
    }

    /// Replaces the archive, unless another change came after it was read.
    ///
    /// - Parameter changeCount: The number of changes before it was read without the lock; `nil` if it was read under the lock.
    /// - Returns: The number of changes now if it was replaced, else `changeCount`.
    @discardableResult
    func replace(with newest: OpenedArchive, readSince changeCount: Int? = nil) -> Int {
        state.withLock { state in
            if let changeCount, state.changeCount != changeCount { return changeCount }
            state.change(newest.keys, newest)
            return state.changeCount
        }
    }

    func replaceKeys(with keys: ArchiveKeys) { state.withLock { $0.change(keys, nil) } }

    /// Forgets the account, so that its tokens are gone from memory, and keeps its keys.
    func forgetAccount() { state.withLock { $0.change($0.keys, nil) } }
}
