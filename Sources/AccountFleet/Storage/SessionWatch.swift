import AccountKit
import Synchronization

/// Follows the entries of a session with one watch of etcd's, however many listen.
///
/// A connection that is lost is made again, and nothing is missed: etcd is asked for what happened since.
final class SessionWatch: Sendable {
    typealias Changes = AsyncThrowingStream<Void, any Error>

    private struct Listener {
        let key: String
        let continuation: Changes.Continuation
    }

    private struct State {
        var listeners: [Int: Listener] = [:]
        var nextListener = 0
        var task: Task<Void, Never>?

        /// Up to which revision the changes were told; `nil` before the first watch.
        var revision: Int64?
    }

    private let client: EtcdClient
    private let folder: String
    private let state: Mutex<State>

    /// - Parameter folder: What the keys begin with; it ends with a slash.
    init(client: EtcdClient, folder: String, revision: Int64? = nil) {
        self.client = client
        self.folder = folder
        state = Mutex(State(revision: revision))
    }

    deinit { state.withLock { $0.task?.cancel() } }

    /// Tells when an entry was written or removed, on whatever machine, and once when it begins.
    func changes(of entry: ArchiveEntry) -> Changes {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: Void.self, throwing: (any Error).self, bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state in
            state.nextListener += 1
            state.listeners[state.nextListener] = Listener(key: folder + entry.rawValue, continuation: continuation)
            // Whoever began to listen a moment ago may have missed what happened till now.
            if state.revision != nil { continuation.yield() }
            if state.task == nil { state.task = Task { await self.run() } }
            return state.nextListener
        }
        continuation.onTermination = { _ in self.remove(number) }
        return stream
    }

    private func remove(_ number: Int) {
        let task = state.withLock { state -> Task<Void, Never>? in
            state.listeners[number] = nil
            guard state.listeners.isEmpty else { return nil }
            // Who comes after a while begins with what is there then.
            state.revision = nil
            return state.task.take()
        }
        task?.cancel()
    }

    /// - Parameter keys: Whose listeners to tell; `nil` for all.
    private func tell(_ keys: Set<String>? = nil, upTo revision: Int64) {
        state.withLock { state in
            guard !Task.isCancelled else { return }
            state.revision = revision
            for listener in state.listeners.values where keys?.contains(listener.key) ?? true {
                listener.continuation.yield()
            }
        }
    }

    private func beginAnew() {
        state.withLock { state in
            if !Task.isCancelled { state.revision = nil }
        }
    }

    private func run() async {
        var pause = Duration.milliseconds(100)
        while !Task.isCancelled {
            let start = ContinuousClock.now
            do {
                try await client.mapping { try await follow() }
            } catch let error as AccountError where error.code != .storeUnreachable {
                return fail(error)
            } catch {
                client.avoidPreferred()
            }
            // One that ends at once is as good as none.
            pause = start.duration(to: .now) > .seconds(5) ? .milliseconds(100) : min(pause * 2, .seconds(5))
            // It throws only if nobody listens any more.
            try? await Task.sleep(for: pause * Double.random(in: 0.5...1.5))
        }
    }

    private func fail(_ error: AccountError) {
        let listeners = state.withLock { state -> [Listener] in
            guard !Task.isCancelled else { return [] }
            defer { state = State() }
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.continuation.finish(throwing: error) }
    }

    /// For a minute: a connection may be dead without anybody noticing.
    private func follow() async throws {
        let known: Int64
        if let last = state.withLock(\.revision) {
            known = last
        } else {
            // Confirmed by a quorum, so that nothing that was written before is missed.
            guard let newest = try await client.send(.range(folder), .reading).object.revision else { return }
            known = newest
            tell(upTo: newest)
        }
        let call = EtcdCall.watchEntries(of: folder, from: known + 1)
        try await client.watch(call, for: .seconds(60)) { message in
            switch message {
            case .progress(let revision):
                // Restored from a backup, the store counts from an older one, and would long tell nothing.
                guard revision < known else { return true }
                self.beginAnew()
                return false
            case .change(let keys, let revision): self.tell(keys, upTo: revision)
            case .compacted(let revision):
                // Etcd tells nothing any more on this connection.
                self.tell(upTo: revision - 1)
                return false
            // Gets another token, or another node.
            case .failure(let failure) where failure.isTokenExpired || failure.code == nil: return false
            case .failure(let failure): throw EtcdClient.Failure.refused(failure)
            }
            return true
        }
    }
}
