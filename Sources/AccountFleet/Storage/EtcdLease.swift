import AccountKit
import AccountSupport
import Synchronization

/// An etcd lease. If the holder stops sending keep-alives, etcd deletes the keys that are attached to the lease.
final class EtcdLease: Sendable {
    let id: Int64
    private let seconds: Int64
    private let client: EtcdClient
    private let keepingAlive = Mutex<Task<Void, Never>?>(nil)
    private let hasEnded = Atomic(false)
    private let renewedAt: Mutex<ContinuousClock.Instant>

    /// The time when the lease expires without another keep-alive. In etcd, the lease expires at this time or a moment
    /// later. The time during which this machine sleeps counts.
    var end: ContinuousClock.Instant { renewedAt.withLock { $0 } + .seconds(seconds) }

    var isFresh: Bool { ContinuousClock.now + .seconds(seconds) * 2 / 3 < end }

    static func granted(
        seconds: Int64, timeout: EtcdClient.Timeout, by client: EtcdClient
    ) async throws -> EtcdLease {
        let start = ContinuousClock.now
        let response = try await client.send(.grantLease(seconds: seconds), timeout)
        guard let id = response.object.int64("ID"), id != 0 else {
            throw AccountError(.inaccessible, "\(client.location) granted no lease")
        }
        return EtcdLease(id: id, seconds: seconds, at: start, client: client)
    }

    private init(id: Int64, seconds: Int64, at start: ContinuousClock.Instant, client: EtcdClient) {
        self.id = id
        self.seconds = seconds
        self.client = client
        renewedAt = Mutex(start)
    }

    deinit { keepingAlive.withLock { $0?.cancel() } }

    func keepAlive() {
        keepingAlive.withLock { task in
            guard task == nil else { return }
            task = Task { [id, seconds, client, weak self] in
                // `sleep` throws only if the task is cancelled.
                while (try? await Task.sleep(for: .seconds(seconds) / 3)) != nil {
                    let start = ContinuousClock.now
                    // The loop retries a failed keep-alive. If the lease expires first, the next change detects the
                    // expiry.
                    let response = try? await client.send(.keepLeaseAlive(id), .tidying)
                    guard let result = response?.object["result"]?.objectMembers else { continue }
                    if result.int64("TTL") ?? 0 <= 0 { return }
                    self?.renewedAt.withLock { $0 = start }
                }
            }
        }
    }

    /// Stops the keep-alives, so that the lease expires.
    func leaveAlone() { keepingAlive.withLock { $0?.cancel() } }

    /// Revokes the lease. If the request fails, the lease expires later.
    func end() async {
        guard !hasEnded.exchange(true, ordering: .relaxed) else { return }
        keepingAlive.withLock { $0?.cancel() }
        await shielded { [client, id] in _ = try? await client.send(.revokeLease(id), .tidying) }
    }
}
