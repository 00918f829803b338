import AccountKit
import Synchronization

/// A key that only its holder has written, under a lease of the holder's.
///
/// Each change that the holder makes writes the key too, and says which revision the key must have for that. So a change that
/// comes late, after the lease was lost or a second time, is none; and who does not know whether one was carried out
/// sees it by the key's revision.
final class EtcdLock: Sendable {
    let key: String
    let lease: EtcdLease
    let createRevision: Int64
    private let lastRevision: Mutex<Int64>

    /// The key's revision after the holder's last change.
    var revision: Int64 {
        get { lastRevision.withLock { $0 } }
        set { lastRevision.withLock { $0 = newValue } }
    }

    private init(key: String, lease: EtcdLease, createRevision: Int64) {
        self.key = key
        self.lease = lease
        self.createRevision = createRevision
        lastRevision = Mutex(createRevision)
    }

    func end() async { await lease.end() }

    // MARK: Taking it

    private enum Outcome {
        case taken(Int64)
        case held(by: EtcdKeyValue, at: Int64)
        case leaseLost
    }

    /// Waits for a lock.
    ///
    /// - Parameters:
    ///   - seconds: For how long others wait when nothing is heard of the holder any more.
    ///   - timeout: How long to wait; it is tried once in any case.
    /// - Throws: `AccountError.Code.busy` after that time, `CancellationError` if the task is cancelled meanwhile.
    static func take(_ key: String, seconds: Int64, timeout: Duration, by client: EtcdClient) async throws -> EtcdLock {
        let deadline = ContinuousClock.now + min(timeout, .seconds(86_400))
        var lease = try await EtcdLease.granted(seconds: seconds, by: client)
        do {
            while true {
                switch try await attempt(key, lease, client) {
                case .taken(let revision): return EtcdLock(key: key, lease: lease, createRevision: revision)
                case .leaseLost:
                    // This process was stopped for a while.
                    await lease.end()
                    lease = try await EtcdLease.granted(seconds: seconds, by: client)
                case .held(let holder, let revision):
                    guard ContinuousClock.now < deadline else { throw busy(holder, timeout, client) }
                    try await waitForDeletion(of: key, after: revision, until: deadline, client)
                }
            }
        } catch {
            await lease.end()
            throw error
        }
    }

    private static func attempt(_ key: String, _ lease: EtcdLease, _ client: EtcdClient) async throws -> Outcome {
        let call = EtcdCall.transaction(
            if: [.createRevision(key, 0)], then: [.put(key, Array(thisProcess.utf8), lease: lease.id)],
            else: [.range(key)])
        do {
            guard let response = EtcdTransactionResponse(try await client.send(call, .beginning).object) else {
                throw AccountError(.inaccessible, "\(client.location) gave an unexpected response")
            }
            if response.isSuccess { return .taken(response.revision) }
            // Gone between the two: try again at once.
            guard let holder = response.ranges.first ?? nil else { return try await attempt(key, lease, client) }
            // An attempt of whose response nothing was heard was carried out.
            if holder.lease == lease.id { return .taken(holder.createRevision) }
            return .held(by: holder, at: response.revision)
        } catch EtcdClient.Failure.refused(let failure) where failure.isLeaseNotFound {
            return .leaseLost
        }
    }

    /// Etcd tells of the deletion. Since a connection can be dead without anybody noticing, the lock is looked at every two
    /// seconds all the same.
    private static func waitForDeletion(
        of key: String, after revision: Int64, until deadline: ContinuousClock.Instant, _ client: EtcdClient
    ) async throws {
        let limit = min(.seconds(2), ContinuousClock.now.duration(to: deadline))
        let start = ContinuousClock.now
        do {
            try await client.watch(.watch(key, from: revision + 1, deletionsOnly: true), for: limit) { message in
                if case .progress = message { true } else { false }
            }
        } catch {
            try Task.checkCancellation()
        }
        // A watch that ends at once must not make this a loop without a pause; nor should all who wait come at once.
        let isEarly = start.duration(to: .now) < .milliseconds(20)
        try await Task.sleep(for: .milliseconds(Int.random(in: isEarly ? 20...100 : 0...10)))
    }

    private static func busy(_ holder: EtcdKeyValue, _ timeout: Duration, _ client: EtcdClient) -> AccountError {
        // Whoever may write there can put anything into it.
        let name = String(decoding: holder.value.prefix(100), as: UTF8.self).filter { $0.isASCII && $0 >= " " }
        return AccountError(
            .busy,
            "\(name.isEmpty ? "another process" : name) has been using \(client.location) for more than \(timeout.text): "
                + "try again, or look there for a process that hangs")
    }

    /// For others, who wait for it.
    private static let thisProcess = "process \(SystemCall.processID) on \(SystemCall.hostName ?? "another machine")"
}
