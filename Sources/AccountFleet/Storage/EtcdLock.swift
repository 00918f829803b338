import AccountKit
import AccountSupport
import Synchronization

/// A lock: a key in etcd with a lease. Only the lock holder writes the key.
///
/// Each change by the holder requires the expected revision of this key, and creates a new revision. Etcd therefore
/// rejects a change that arrives late, twice, or after the holder has lost the lease. If the outcome of a change is
/// unknown, the revision shows whether etcd applied the change.
final class EtcdLock: Sendable {
    private struct State {
        var revision: Int64
        var leases: [EtcdLease]

        var isExchanging = false
        var isLost = false
    }

    /// The names of the keys. `.lock` sorts before `.refresh`, so a watch that starts at the refresh lease does not
    /// report the transaction lock.
    static let (refreshName, transactionName) = (".refresh", ".lock")

    let key: String
    let createRevision: Int64

    /// The folder's entries at the time when the lock was acquired, or `nil` if the caller did not request the entries
    /// or if they are unknown.
    let entries: [EtcdKeyValue]?
    private let client: EtcdClient
    private let state: Mutex<State>

    /// The key's revision after the holder's last change.
    var revision: Int64 {
        get { state.withLock(\.revision) }
        set { state.withLock { $0.revision = newValue } }
    }

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

    /// Requests a lease that lasts for a token request, to which the next change attaches the key. Returns `nil` if the
    /// lock already has such a lease.
    func longerLease() async throws -> EtcdLease? {
        guard state.withLock({ $0.leases.count == 1 }) else { return nil }
        let seconds = EtcdArchiveStorage.longestExchange.components.seconds + 15
        let lease = try await client.mapping {
            try await EtcdLease.granted(seconds: seconds, timeout: .beginning, by: client)
        }
        lease.keepAlive()
        state.withLock { $0.leases.append(lease) }
        return lease
    }

    /// The value of the key, which identifies the holder to other processes.
    static let value = Array("process \(SystemCall.processID) on \(SystemCall.hostName ?? unknownMachine)".utf8)

    fileprivate static let unknownMachine = "another machine"

    /// Whether the holder may have sent a refresh token whose successor is not stored yet. Until the lease expires, no
    /// other process may send that token.
    var isExchanging: Bool {
        get { state.withLock(\.isExchanging) }
        set { state.withLock { $0.isExchanging = newValue } }
    }

    /// Returns whether the lock stays exclusive for this duration, even without another keep-alive from the holder.
    func lasts(for duration: Duration) -> Bool {
        state.withLock { !$0.isLost && ContinuousClock.now + duration < $0.leases.last!.end }
    }

    /// Records that the key was deleted, or that another process holds the lock.
    func noteLoss() { state.withLock { $0.isLost = true } }

    func end() async {
        let (leases, isWaitedFor) = state.withLock { ($0.leases, $0.isExchanging && !$0.isLost) }
        // Don't revoke the lease: other processes must wait until it expires.
        if isWaitedFor { return leases.forEach { $0.leaveAlone() } }
        // If the outcome of a change is unknown, the key may be attached to either lease.
        await withTaskGroup(of: Void.self) { group in
            for lease in leases { group.addTask { await lease.end() } }
        }
    }

    // MARK: Acquiring

    private enum Outcome {
        case taken(Int64, entries: [EtcdKeyValue]?)

        /// The holder is `nil` if this process did not read the key again.
        case held(by: EtcdKeyValue?, at: Int64)
        case leaseLost
    }

    /// Acquires a lock. If another process holds the lock, this method waits.
    ///
    /// - Parameters:
    ///   - seconds: The time in seconds after which the lock expires if its holder no longer responds.
    ///   - timeout: How long to wait. There is at least one attempt.
    ///   - folder: The folder whose entries to read in the etcd transaction that acquires the lock.
    ///   - watch: Reports the release of a contended lock. If there is a watch, this method requests a lease only if
    ///     the lock seems free.
    /// - Throws: `AccountError.Code.busy` after the timeout, `CancellationError` if the task is cancelled.
    static func take(
        _ key: String, seconds: Int64, timeout: Duration, call: EtcdClient.Timeout = .beginning,
        reading folder: String? = nil, sharing watch: SessionWatch? = nil, by client: EtcdClient
    ) async throws -> EtcdLock {
        let deadline = ContinuousClock.now + min(timeout, .seconds(86_400))
        var lease: EtcdLease?
        // A lease without keys needs no revocation: it expires, and no process waits for it.
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
                // The wait was longer than the lease, or this process was suspended.
                case .leaseLost: lease = nil
                case .held(let holder, let revision):
                    mayBeUsed = false
                    guard ContinuousClock.now < deadline else {
                        watch?.noteRefresh(isUnderWay: true)
                        throw busy(holder, timeout, client)
                    }
                    failureCount += 1
                    try await waitForDeletion(of: key, after: revision, until: deadline, failureCount, watch, client)
                    // A lease that is about to expire could expire before the first keep-alive.
                    if lease?.isFresh == false { lease = nil }
                }
            }
        } catch {
            if mayBeUsed { await lease?.end() }
            throw error
        }
    }

    /// Reads the lock, and returns `nil` if the lock is free. If the request was slow, this method assumes contention
    /// and reads the lock again after a random pause. By then, one of the competing processes has acquired the lock,
    /// and the other processes request no lease.
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
                throw AccountError(.inaccessible, "\(client.location) returned an unexpected response")
            }
            if response.isSuccess { return .taken(response.revision, entries: response.ranges.first) }
            // The holder released the lock in between, so retry immediately.
            guard let holder = response.ranges.first?.first else {
                return try await attempt(key, lease, folder, timeout, client)
            }
            // An earlier attempt succeeded, but its response was lost.
            if holder.lease == lease.id { return .taken(holder.createRevision, entries: nil) }
            return .held(by: holder, at: response.revision)
        } catch EtcdClient.Failure.refused(let failure) where failure.isLeaseNotFound {
            return .leaseLost
        }
    }

    /// Waits until etcd reports that the key was deleted. Because a dead connection reports no changes, the wait is
    /// limited to two seconds at first and to eight seconds later, or always to eight seconds with a shared watch. The
    /// random pause after the wait grows with `failureCount`, so that only some of many waiting processes try at the
    /// same time.
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
        // Without a minimum pause, a watch that ends immediately would cause a busy loop.
        let isEarly = start.duration(to: .now) < .milliseconds(20)
        let pause = 5 << min(failureCount, 4)
        try await Task.sleep(for: .milliseconds(Int.random(in: isEarly ? 20...(20 + pause) : 0...pause)))
    }

    private static func busy(_ holder: EtcdKeyValue?, _ timeout: Duration, _ client: EtcdClient) -> AccountError {
        AccountError(
            .busy,
            "\(holder?.holderName ?? "another process") has been using \(client.location) for more than \(timeout.text): "
                + "try again, or check that machine for a process that hangs")
    }
}

extension EtcdKeyValue {
    /// The holder of a lock, if the value has the form of ``EtcdLock/value``. Any etcd user with access to this prefix can
    /// write another text, which would look like a sentence of AccountKit.
    var holderName: String? {
        let text = String(decoding: value, as: UTF8.self)
        let words = text.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false)
        guard words.count == 4, words[0] == "process", Int32(words[1]) != nil, words[2] == "on",
            words[3] == EtcdLock.unknownMachine || Self.isMachineName(words[3])
        else { return nil }
        return text
    }

    /// The longest name of a machine is `HOST_NAME_MAX` (hostname(7)).
    private static func isMachineName(_ name: Substring) -> Bool {
        (1...64).contains(name.utf8.count)
            && name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-._".contains($0)) }
    }
}
