import AccountKit
import Synchronization

/// Follows the entries of a session, and the right to refresh it, with one watch of etcd's, however many listen.
///
/// It begins with what has happened since the entries that are listened to were last read, so that nobody needs to read them
/// again for that.
///
/// A watch can lose events: some versions of etcd lose them after a compaction, and so does a connection that died unnoticed.
/// Therefore each watch lasts a minute at most. Before the next one begins, `SessionWatch` reads all entries, confirmed by a
/// quorum, and notifies each listener whose entry differs from what the listener knows.
final class SessionWatch: Sendable {
    typealias Changes = AsyncThrowingStream<Void, any Error>

    struct Listener {
        let key: String
        fileprivate let isForRemoval: Bool

        /// The store's revision when the key was last read; `nil` if it is not known.
        fileprivate var revision: Int64?

        /// The `mod_revision` of the key that the listener knows; 0 if it knows that there is no such key, `nil` if it knows
        /// nothing yet.
        fileprivate var modRevision: Int64?
        fileprivate let continuation: Changes.Continuation
    }

    private struct Reading {
        var revision: Int64
        var modRevision: Int64
    }

    private struct State {
        var listeners: [Int: Listener] = [:]
        var nextListener = 0
        var task: Task<Void, Never>?

        /// Which of the tasks counts: one that is cancelled may go on for a moment.
        var taskNumber = 0

        /// Up to which revision the changes were told; `nil` before the first watch.
        var revision: Int64?

        /// What each key was when it was last read.
        var readings: [String: Reading] = [:]

        /// When somebody was found to hold the right to refresh.
        var refreshSeenAt: ContinuousClock.Instant?
    }

    private let client: EtcdClient
    private let folder: String
    private let interval: Duration
    private let state: Mutex<State>

    /// - Parameters:
    ///   - folder: What the keys begin with; it ends with a slash.
    ///   - interval: How often all entries are read in case the watch has lost an event.
    init(client: EtcdClient, folder: String, revision: Int64? = nil, interval: Duration = .seconds(60)) {
        self.client = client
        self.folder = folder
        self.interval = interval
        state = Mutex(State(revision: revision))
    }

    deinit { state.withLock { $0.task?.cancel() } }

    /// Takes note that a key was read, at the store's newest revision by then.
    ///
    /// - Parameter entry: The key as it was read; `nil` if there is no such key.
    func noteReading(of key: String, _ entry: EtcdKeyValue?, at revision: Int64) {
        state.withLock { state in
            if let last = state.readings[key], last.revision > revision { return }
            state.readings[key] = Reading(revision: revision, modRevision: entry?.modRevision ?? 0)
        }
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
                key: key, isForRemoval: isForRemoval, revision: reading?.revision, modRevision: reading?.modRevision,
                continuation: continuation)
            if state.task == nil { state.task = Task { [number = state.taskNumber] in await self.run(number) } }
            return (state.nextListener, state.revision.map { reading?.revision ?? -1 < $0 } ?? false)
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
    ///   - isToBeTold: Returns whether to notify a listener. It may update what the listener knows.
    func tell(
        upTo revision: Int64, by number: Int? = nil, where isToBeTold: (inout Listener) -> Bool = { _ in true }
    ) {
        let told = state.withLock { state -> [Changes.Continuation] in
            guard number ?? state.taskNumber == state.taskNumber else { return [] }
            state.revision = revision
            return state.listeners.keys.compactMap { id in
                isToBeTold(&state.listeners[id]!) ? state.listeners[id]!.continuation : nil
            }
        }
        // Not under the lock, which who is cancelled at this moment takes as well.
        for continuation in told { continuation.yield() }
    }

    private func tell(_ events: [EtcdEvent], by number: Int) {
        guard let revision = events.map(\.revision).max() else { return }
        tell(upTo: revision, by: number) { listener in
            let own = events.filter { $0.key == listener.key }
            guard let last = own.last else { return false }
            listener.modRevision = last.modRevision
            return !listener.isForRemoval || own.contains(where: \.isRemoval)
        }
    }

    /// Reads all entries, and notifies each listener whose entry differs from what the listener knows.
    ///
    /// - Returns: The store's revision; `nil` if the response is not one of etcd's.
    private func compare(_ number: Int) async throws -> Int64? {
        let response = try await client.send(.keys(below: folder), .reading).object
        guard let revision = response.revision else { return nil }
        let entries = (response["kvs"]?.elements ?? []).compactMap { EtcdKeyValue($0) }
        let modRevisions = Dictionary(entries.map { ($0.key, $0.modRevision) }) { $1 }
        // A store that was restored from a backup counts from an older revision, where the same numbers mean something else.
        let isRestored = state.withLock { state in
            guard number == state.taskNumber, let last = state.revision, revision < last else { return false }
            state.readings = [:]
            return true
        }
        tell(upTo: revision, by: number) { listener in
            let modRevision = modRevisions[listener.key] ?? 0
            let isChanged = isRestored || listener.modRevision != modRevision
            listener.modRevision = modRevision
            return isChanged
        }
        return revision
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

    private func run(_ number: Int) async {
        var pause = Duration.milliseconds(100)
        var isResumed = false
        while !Task.isCancelled {
            let start = ContinuousClock.now
            do {
                try await client.mapping { try await follow(number, isResumed: isResumed) }
            } catch let error as AccountError where error.code != .storeUnreachable {
                return fail(error, number)
            } catch {
                client.avoidPreferred()
            }
            isResumed = true
            // If a watch ends at once, make the next one later.
            let isLong = start.duration(to: .now) > min(.seconds(5), interval / 2)
            pause = isLong ? .milliseconds(100) : min(pause * 2, .seconds(5))
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

    /// Tells of changes until the interval is over, or until the entries have to be read again.
    ///
    /// - Parameter isResumed: Whether there was a watch before. The first one needs no reading if all listeners have read.
    private func follow(_ number: Int, isResumed: Bool) async throws {
        let known: Int64
        if !isResumed, let start = try start(number) {
            known = start
        } else {
            guard let newest = try await compare(number) else { return }
            known = newest
        }
        let call = EtcdCall.watch(folder + EtcdLock.refreshName, toEndOf: folder, from: known + 1)
        try await client.watch(call, for: interval) { message in
            switch message {
            // A store that was restored from a backup counts from an older revision. It would tell nothing for long.
            case .progress(let revision): return revision >= known
            case .change(let events): self.tell(events, by: number)
            // Etcd tells nothing any more on this connection.
            case .compacted: return false
            // Gets another token, or another node.
            case .failure(let failure) where failure.isTokenExpired || failure.code == nil: return false
            case .failure(let failure): throw EtcdClient.Failure.refused(failure)
            }
            return true
        }
    }
}
