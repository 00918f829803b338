import AccountKit
import Synchronization

/// Watches the entries and the refresh lease of a session, with one etcd watch for all listeners.
///
/// The watch starts at the revision at which this process last read the entries, so listeners need not read the entries
/// again.
///
/// A watch can lose events: some versions of etcd lose events after a compaction, and a dead connection does not
/// deliver events. Each watch therefore lasts at most one minute. Before the next watch begins, `SessionWatch` reads
/// all entries, confirmed by a quorum, and notifies each listener whose entry has another revision than the listener
/// expects.
final class SessionWatch: Sendable {
    typealias Changes = AsyncThrowingStream<Void, any Error>

    struct Listener {
        let key: String
        fileprivate let isForRemoval: Bool

        /// The store's revision when this process last read the key, or `nil` if it is not known.
        fileprivate var revision: Int64?

        /// The `mod_revision` of the key in the latest read or notification: 0 if there was no such key, `nil` if it is
        /// not known.
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

        /// The number of the current task, to distinguish it from a cancelled task that continues for a moment.
        var taskNumber = 0

        /// The revision up to which listeners were notified, or `nil` before the first watch.
        var revision: Int64?

        var readings: [String: Reading] = [:]

        /// The time when this process last detected that another process holds the refresh lease.
        var refreshSeenAt: ContinuousClock.Instant?
    }

    private let client: EtcdClient
    private let folder: String
    private let interval: Duration
    private let state: Mutex<State>

    /// - Parameter interval: The interval at which to read all entries, in case the watch has lost an event.
    init(client: EtcdClient, folder: String, revision: Int64? = nil, interval: Duration = .seconds(60)) {
        self.client = client
        self.folder = folder
        self.interval = interval
        state = Mutex(State(revision: revision))
    }

    deinit { state.withLock { $0.task?.cancel() } }

    /// - Parameter revision: The store's revision when the key was read.
    func noteReading(of key: String, _ entry: EtcdKeyValue?, at revision: Int64) {
        state.withLock { state in
            if let last = state.readings[key], last.revision > revision { return }
            state.readings[key] = Reading(revision: revision, modRevision: entry?.modRevision ?? 0)
        }
    }

    func noteRefresh(isUnderWay: Bool) { state.withLock { $0.refreshSeenAt = isUnderWay ? .now : nil } }

    /// Returns whether another process held the refresh lease less than a second ago, and clears this information.
    /// Listeners receive later changes.
    func takeRefresh() -> Bool {
        state.withLock { $0.refreshSeenAt.take() }.map { $0 + .seconds(1) > .now } ?? false
    }

    /// Returns a stream that yields when any machine has written or removed a key since this process last read it. If
    /// the revision of the last read is unknown, the stream also yields once at the start.
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
        // Deliver the changes that other listeners have already received.
        if isLate { continuation.yield() }
        continuation.onTermination = { _ in self.remove(number) }
        return stream
    }

    private func remove(_ number: Int) {
        let task = state.withLock { state -> Task<Void, Never>? in
            state.listeners[number] = nil
            guard state.listeners.isEmpty else { return nil }
            // Determine the revision again when the next listener starts.
            state.revision = nil
            state.taskNumber += 1
            return state.task.take()
        }
        task?.cancel()
    }

    /// Notifies listeners of changes up to a revision, unless `number` is the number of a superseded task. `isToBeTold`
    /// may update the state of a listener.
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
        // Yield outside the lock: a stream that is cancelled at this moment also acquires the lock.
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

    /// Reads all entries, notifies each listener that expects another revision of its entry, and returns the store's
    /// revision.
    private func compare(_ number: Int) async throws -> Int64? {
        let response = try await client.send(.keys(below: folder), .reading).object
        guard let revision = response.revision else { return nil }
        let entries = (response["kvs"]?.elements ?? []).compactMap { EtcdKeyValue($0) }
        let modRevisions = Dictionary(entries.map { ($0.key, $0.modRevision) }) { $1 }
        // A store that was restored from a backup continues from an older revision and reuses revision numbers.
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

    /// Returns the revision at which the watch starts, or `nil` if the revision of a listener's last read is unknown.
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
            // If a watch ends early, wait longer before the next watch.
            let isLong = start.duration(to: .now) > min(.seconds(5), interval / 2)
            pause = isLong ? .milliseconds(100) : min(pause * 2, .seconds(5))
            // `sleep` throws only after the last listener was removed.
            try? await Task.sleep(for: pause * Double.random(in: 0.5...1.5))
        }
    }

    private func fail(_ error: AccountError, _ number: Int) {
        let listeners = state.withLock { state -> [Listener] in
            guard number == state.taskNumber else { return [] }
            // Do not reuse listener numbers: failed listeners remove themselves later.
            defer { state = State(nextListener: state.nextListener, taskNumber: number + 1) }
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.continuation.finish(throwing: error) }
    }

    /// Reports changes until the interval ends, or until this watch must read the entries again. The first watch does
    /// not read the entries if all listeners have already read their keys.
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
            // A store that was restored from a backup has an older revision. A watch from a newer revision reports no
            // changes.
            case .progress(let revision): return revision >= known
            case .change(let events): self.tell(events, by: number)
            // After a compaction, etcd reports no further changes on this connection.
            case .compacted: return false
            // Retry with another token or another node.
            case .failure(let failure) where failure.isTokenExpired || failure.code == nil: return false
            case .failure(let failure): throw EtcdClient.Failure.refused(failure)
            }
            return true
        }
    }
}
