import AccountKit
import Synchronization

/// A key that only its holder has written, under a lease of the holder's.
///
/// Each change that the holder makes writes the key too, and says which revision the key must have for that. So a change that
/// comes late, after the lease was lost or a second time, is none; and who does not know whether one was carried out
/// sees it by the key's revision.
final class EtcdLock: Sendable {
    private struct State {
        var revision: Int64
        var leases: [EtcdLease]

        /// Whether a refresh token may have been sent whose successor is not stored.
        var isExchanging = false
        var isLost = false
    }

    /// The name of the right to refresh in a session's folder, and that of the lock of its entries, which sorts before it: who
    /// follows a session hears of the one and not of the other.
    static let (refreshName, transactionName) = (".refresh", ".lock")

    let key: String
    let createRevision: Int64

    /// What was in the folder when the lock was taken; `nil` if that was not asked for, or is not known.
    let entries: [EtcdKeyValue]?
    private let client: EtcdClient
    private let state: Mutex<State>

    /// The key's revision after the holder's last change.
    var revision: Int64 {
        get { state.withLock(\.revision) }
        set { state.withLock { $0.revision = newValue } }
    }

    /// The one that the key is under.
    var lease: EtcdLease { state.withLock { $0.leases.last! } }

    private init(
        key: String, lease: EtcdLease, createRevision: Int64, entries: [EtcdKeyValue]?, client: EtcdClient
    ) {
        self.key = key
        self.createRevision = createRevision
        self.entries = entries
        self.client = client
        state = Mutex(State(revision: createRevision, leases: [lease]))
        lease.keepAlive()
    }

    /// A lease that lasts longer than the one before, for the next change to put the key under; `nil` if it is there already.
    func longerLease(seconds: Int64) async throws -> EtcdLease? {
        guard state.withLock({ $0.leases.count == 1 }) else { return nil }
        let lease = try await EtcdLease.granted(seconds: seconds, timeout: .beginning, by: client)
        lease.keepAlive()
        state.withLock { $0.leases.append(lease) }
        return lease
    }

    /// What the key is, for a change to write it.
    static let value = Array("process \(SystemCall.processID) on \(SystemCall.hostName ?? "another machine")".utf8)

    /// Whether a refresh token may have been sent whose successor is not stored: as long as its holder may still bring that, nobody
    /// else is to send it.
    var isExchanging: Bool {
        get { state.withLock(\.isExchanging) }
        set { state.withLock { $0.isExchanging = newValue } }
    }

    /// Whether nobody else gets the lock for so long, even if nothing more is heard of its holder.
    func lasts(for duration: Duration) -> Bool {
        state.withLock { !$0.isLost && ContinuousClock.now + duration < $0.leases.last!.end }
    }

    /// The key was found to be gone, or another's.
    func noteLoss() { state.withLock { $0.isLost = true } }

    func end() async {
        let (leases, isWaitedFor) = state.withLock { ($0.leases, $0.isExchanging && !$0.isLost) }
        // Others wait until it goes by itself.
        if isWaitedFor { return leases.forEach { $0.leaveAlone() } }
        // The key may be under either, where it is not known whether a change was carried out.
        await withTaskGroup(of: Void.self) { group in
            for lease in leases { group.addTask { await lease.end() } }
        }
    }

    // MARK: Taking it

    private enum Outcome {
        case taken(Int64, entries: [EtcdKeyValue]?)

        /// By somebody who is not known where it was not looked at again.
        case held(by: EtcdKeyValue?, at: Int64)
        case leaseLost
    }

    /// Waits for a lock.
    ///
    /// - Parameters:
    ///   - seconds: For how long others wait when nothing is heard of the holder any more.
    ///   - timeout: How long to wait; it is tried once in any case.
    ///   - call: How long each call to etcd may take.
    ///   - folder: What to read the entries of once it is taken, in the same step.
    ///   - watch: Tells when it is given up, for one that many want, and few get; then a lease is asked for only when it seems
    ///     to be free.
    /// - Throws: `AccountError.Code.busy` after that time, `CancellationError` if the task is cancelled meanwhile.
    static func take(
        _ key: String, seconds: Int64, timeout: Duration, call: EtcdClient.Timeout = .beginning,
        reading folder: String? = nil, sharing watch: SessionWatch? = nil, by client: EtcdClient
    ) async throws -> EtcdLock {
        let deadline = ContinuousClock.now + min(timeout, .seconds(86_400))
        var lease: EtcdLease?
        // One that nothing is under goes by itself, and nobody waits for that.
        var mayBeUsed = false
        var failureCount = 0
        do {
            while true {
                var outcome: Outcome?
                if let watch {
                    outcome =
                        timeout > .zero && watch.takeRefresh()
                        ? .held(by: nil, at: 0) : try await look(at: key, watch, call, client)
                }
                if outcome == nil {
                    let own: EtcdLease
                    if let lease {
                        own = lease
                    } else {
                        own = try await EtcdLease.granted(seconds: seconds, timeout: call, by: client)
                        lease = own
                    }
                    mayBeUsed = true
                    outcome = try await attempt(key, own, folder, call, client)
                }
                switch outcome! {
                case .taken(let revision, let entries):
                    return EtcdLock(
                        key: key, lease: lease!, createRevision: revision, entries: entries, client: client)
                // It was waited for longer than the lease lasts, or this process was stopped for a while.
                case .leaseLost: lease = nil
                case .held(let holder, let revision):
                    mayBeUsed = false
                    guard ContinuousClock.now < deadline else {
                        watch?.noteRefresh(isUnderWay: true)
                        throw busy(holder, timeout, client)
                    }
                    failureCount += 1
                    try await waitForDeletion(of: key, after: revision, until: deadline, failureCount, watch, client)
                    // One that is about to end could be lost before it is kept alive.
                    if lease?.isFresh == false { lease = nil }
                }
            }
        } catch {
            if mayBeUsed { await lease?.end() }
            throw error
        }
    }

    /// Who waits for long only to see that it is free has company, and looks again a moment later: the first of them takes it
    /// meanwhile, and the others ask for no lease.
    ///
    /// - Returns: `nil` if nobody holds it.
    private static func look(
        at key: String, _ watch: SessionWatch, _ timeout: EtcdClient.Timeout, _ client: EtcdClient
    ) async throws -> Outcome? {
        let start = ContinuousClock.now
        func look() async throws -> Outcome? {
            let response = try await client.send(.range(key), timeout).object
            guard let revision = response.revision else { return nil }
            let holder = EtcdKeyValue(response["kvs"]?.elements.first)
            watch.noteReading(of: key, holder, at: revision)
            guard let holder else {
                watch.noteRefresh(isUnderWay: false)
                return nil
            }
            return .held(by: holder, at: revision)
        }
        if let held = try await look() { return held }
        let latency = start.duration(to: .now)
        guard latency > .milliseconds(200) else { return nil }
        try await Task.sleep(for: min(latency * Double.random(in: 0...3), .seconds(1)))
        return try await look()
    }

    private static func attempt(
        _ key: String, _ lease: EtcdLease, _ folder: String?, _ timeout: EtcdClient.Timeout, _ client: EtcdClient
    ) async throws -> Outcome {
        let call = EtcdCall.transaction(
            if: [.createRevision(key, 0)],
            then: [.put(key, value, lease: lease.id)] + (folder.map { [.entries(of: $0)] } ?? []), else: [.range(key)])
        do {
            guard let response = EtcdTransactionResponse(try await client.send(call, timeout).object) else {
                throw AccountError(.inaccessible, "\(client.location) gave an unexpected response")
            }
            if response.isSuccess { return .taken(response.revision, entries: response.ranges.first) }
            // Gone between the two: try again at once.
            guard let holder = response.ranges.first?.first else {
                return try await attempt(key, lease, folder, timeout, client)
            }
            // An attempt of whose response nothing was heard was carried out.
            if holder.lease == lease.id { return .taken(holder.createRevision, entries: nil) }
            return .held(by: holder, at: response.revision)
        } catch EtcdClient.Failure.refused(let failure) where failure.isLeaseNotFound {
            return .leaseLost
        }
    }

    /// Etcd tells of the deletion. Since a connection can be dead without anybody noticing, the lock is looked at all the same:
    /// first after two seconds, at last every eight, and always every eight where a watch is shared.
    ///
    /// - Parameter failureCount: How often it was tried; who came too late more often waits longer, so that of many who wait only
    ///   some try at the same time.
    private static func waitForDeletion(
        of key: String, after revision: Int64, until deadline: ContinuousClock.Instant, _ failureCount: Int,
        _ watch: SessionWatch?, _ client: EtcdClient
    ) async throws {
        let pauseLimit = Duration.seconds(1 << (watch == nil ? min(failureCount, 3) : 3))
        let limit = min(pauseLimit, ContinuousClock.now.duration(to: deadline))
        let start = ContinuousClock.now
        do {
            if let watch {
                _ = try await withDeadline(.now + limit) {
                    for try await _ in watch.changes(of: key, isForRemoval: true) { return }
                }
            } else {
                try await client.watch(.watchDeletion(of: key, from: revision + 1), for: limit) { message in
                    if case .progress = message { true } else { false }
                }
            }
        } catch {
            try Task.checkCancellation()
        }
        // A watch that ends at once must not make this a loop without a pause.
        let isEarly = start.duration(to: .now) < .milliseconds(20)
        let pause = 5 << min(failureCount, 4)
        try await Task.sleep(for: .milliseconds(Int.random(in: isEarly ? 20...(20 + pause) : 0...pause)))
    }

    private static func busy(_ holder: EtcdKeyValue?, _ timeout: Duration, _ client: EtcdClient) -> AccountError {
        AccountError(
            .busy,
            "\(holder?.holderName ?? "another process") has been using \(client.location) for more than \(timeout.text): "
                + "try again, or look there for a process that hangs")
    }
}

extension EtcdKeyValue {
    /// Of a lock's key: who holds it, such as `process 4711 on host`; `nil` if it does not say so.
    var holderName: String? {
        // Whoever may write there can put anything into it.
        let name = String(decoding: value.prefix(100), as: UTF8.self).filter { $0.isASCII && $0 >= " " }
        return name.isEmpty ? nil : name
    }
}
