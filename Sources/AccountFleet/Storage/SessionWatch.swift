import AccountKit
import Synchronization

/// Follows the entries of a session, and the right to refresh it, with one watch of etcd's, however many listen.
///
/// It begins with what has happened since the entries that are listened to were last read, so that nobody needs to read them
/// again for that. A connection that is lost is made again, and nothing is missed: etcd is asked for what happened since.
final class SessionWatch: Sendable {
    typealias Changes = AsyncThrowingStream<Void, any Error>

    private struct Listener {
        let key: String
        let isForRemoval: Bool

        /// When it was last read; `nil` if that is not known.
        var revision: Int64?
        let continuation: Changes.Continuation
    }

    private struct State {
        var listeners: [Int: Listener] = [:]
        var nextListener = 0
        var task: Task<Void, Never>?

        /// Which of the tasks counts: one that is cancelled may go on for a moment.
        var taskNumber = 0

        /// Up to which revision the changes were told; `nil` before the first watch.
        var revision: Int64?

        /// When each key was last read.
        var readings: [String: Int64] = [:]

        /// When somebody was found to hold the right to refresh.
        var refreshSeenAt: ContinuousClock.Instant?
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

    /// Takes note that a key was read, at the store's newest revision by then.
    func noteReading(of key: String, at revision: Int64) {
        state.withLock { $0.readings[key] = max($0.readings[key] ?? 0, revision) }
    }

    /// Takes note whether the right to refresh, whose key was read, is somebody's.
    func noteRefresh(isUnderWay: Bool) { state.withLock { $0.refreshSeenAt = isUnderWay ? .now : nil } }

    /// Whether it was somebody's a moment ago; says so once. Who listens hears what has happened since.
    func takeRefresh() -> Bool {
        state.withLock { $0.refreshSeenAt.take() }.map { $0 + .seconds(1) > .now } ?? false
    }

    /// Tells when a key was written or removed, on whatever machine, since it was last read; where that is not known, once when
    /// it begins.
    ///
    /// - Parameter isForRemoval: Whether to tell of removals only.
    func changes(of key: String, isForRemoval: Bool = false) -> Changes {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: Void.self, throwing: (any Error).self, bufferingPolicy: .bufferingNewest(1))
        let (number, isLate) = state.withLock { state in
            state.nextListener += 1
            let reading = state.readings[key]
            state.listeners[state.nextListener] = Listener(
                key: key, isForRemoval: isForRemoval, revision: reading, continuation: continuation)
            if state.task == nil { state.task = Task { [number = state.taskNumber] in await self.run(number) } }
            return (state.nextListener, state.revision.map { reading ?? -1 < $0 } ?? false)
        }
        // What others were told already.
        if isLate { continuation.yield() }
        continuation.onTermination = { _ in self.remove(number) }
        return stream
    }

    private func remove(_ number: Int) {
        let task = state.withLock { state -> Task<Void, Never>? in
            state.listeners[number] = nil
            guard state.listeners.isEmpty else { return nil }
            // Who comes after a while begins with what is there then.
            state.revision = nil
            state.taskNumber += 1
            return state.task.take()
        }
        task?.cancel()
    }

    /// - Parameters:
    ///   - number: That of the task that tells; what one tells that does not count is not told.
    ///   - isToBeTold: For a key, and whether it is listened to for removals only.
    func tell(
        upTo revision: Int64, by number: Int? = nil, where isToBeTold: (String, Bool) -> Bool = { _, _ in true }
    ) {
        let listeners = state.withLock { state -> [Listener] in
            guard number ?? state.taskNumber == state.taskNumber else { return [] }
            state.revision = revision
            return state.listeners.values.filter { isToBeTold($0.key, $0.isForRemoval) }
        }
        // Not under the lock, which who is cancelled at this moment takes as well.
        for listener in listeners { listener.continuation.yield() }
    }

    /// From when on to watch; `nil` if somebody listens of whom that is not known.
    private func start(_ number: Int) throws(CancellationError) -> Int64? {
        try state.withLock { state throws(CancellationError) in
            guard number == state.taskNumber else { throw CancellationError() }
            if state.revision == nil, !state.listeners.values.contains(where: { $0.revision == nil }) {
                state.revision = state.listeners.values.compactMap(\.revision).min()
            }
            return state.revision
        }
    }

    private func beginAnew(_ number: Int) {
        state.withLock { state in
            guard number == state.taskNumber else { return }
            state.revision = nil
            state.readings = [:]
            for number in state.listeners.keys { state.listeners[number]?.revision = nil }
        }
    }

    private func run(_ number: Int) async {
        var pause = Duration.milliseconds(100)
        while !Task.isCancelled {
            let start = ContinuousClock.now
            do {
                try await client.mapping { try await follow(number) }
            } catch let error as AccountError where error.code != .storeUnreachable {
                return fail(error, number)
            } catch {
                client.avoidPreferred()
            }
            // One that ends at once is as good as none.
            pause = start.duration(to: .now) > .seconds(5) ? .milliseconds(100) : min(pause * 2, .seconds(5))
            // It throws only if nobody listens any more.
            try? await Task.sleep(for: pause * Double.random(in: 0.5...1.5))
        }
    }

    private func fail(_ error: AccountError, _ number: Int) {
        let listeners = state.withLock { state -> [Listener] in
            guard number == state.taskNumber else { return [] }
            // Numbers are not given again: those who are told that it has failed leave later.
            defer { state = State(nextListener: state.nextListener, taskNumber: number + 1) }
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.continuation.finish(throwing: error) }
    }

    /// For a minute: a connection may be dead without anybody noticing.
    private func follow(_ number: Int) async throws {
        let known: Int64
        if let start = try start(number) {
            known = start
        } else {
            // Confirmed by a quorum, so that nothing that was written before is missed.
            guard let newest = try await client.send(.range(folder), .reading).object.revision else { return }
            known = newest
            tell(upTo: newest, by: number)
        }
        let call = EtcdCall.watch(folder + EtcdLock.refreshName, toEndOf: folder, from: known + 1)
        try await client.watch(call, for: .seconds(60)) { message in
            switch message {
            case .progress(let revision):
                // Restored from a backup, the store counts from an older one, and would long tell nothing.
                guard revision < known else { return true }
                self.beginAnew(number)
                return false
            case .change(let written, let removed, let revision):
                self.tell(upTo: revision, by: number) { key, isForRemoval in
                    removed.contains(key) || !isForRemoval && written.contains(key)
                }
            case .compacted(let revision):
                // Etcd tells nothing any more on this connection.
                self.tell(upTo: revision - 1, by: number)
                return false
            // Gets another token, or another node.
            case .failure(let failure) where failure.isTokenExpired || failure.code == nil: return false
            case .failure(let failure): throw EtcdClient.Failure.refused(failure)
            }
            return true
        }
    }
}
