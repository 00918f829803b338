import AccountSupport
import Synchronization

/// A cache of the most recently read blobs, up to a total size.
final class BlobMemory: Sendable {
    private struct Entry {
        let content: String
        let data: Data
        var lastUse: Int
    }

    private struct State {
        var entries: [BlobName: Entry] = [:]
        var byteCount = 0
        var useCount = 0

        mutating func remove(_ name: BlobName) {
            byteCount -= entries.removeValue(forKey: name)?.data.count ?? 0
        }
    }

    private let limit: Int
    private let state = Mutex(State())

    init(limit: Int) { self.limit = limit }

    var byteCount: Int { state.withLock { $0.byteCount } }

    func data(of name: BlobName, _ content: String) -> Data? {
        state.withLock { state in
            guard state.entries[name]?.content == content else { return nil }
            state.useCount += 1
            state.entries[name]?.lastUse = state.useCount
            return state.entries[name]?.data
        }
    }

    /// Stores a blob, and evicts the least recently used blobs. This method does not store a blob that is larger than
    /// half of the limit.
    func store(_ data: Data, of name: BlobName, _ content: String) {
        state.withLock { state in
            state.remove(name)
            guard data.count <= limit / 2 else { return }
            state.useCount += 1
            state.entries[name] = Entry(content: content, data: data, lastUse: state.useCount)
            state.byteCount += data.count
            while state.byteCount > limit, let oldest = state.entries.min(by: { $0.value.lastUse < $1.value.lastUse }) {
                state.remove(oldest.key)
            }
        }
    }

    func remove(_ prefix: String = "") {
        state.withLock { state in
            for name in state.entries.keys where name.text.hasPrefix(prefix) { state.remove(name) }
        }
    }
}
