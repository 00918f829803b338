import AccountKit
import Synchronization

/// A lease of etcd's: what is stored under it goes when nothing is heard of its holder any more.
final class EtcdLease: Sendable {
    let id: Int64
    private let seconds: Int64
    private let client: EtcdClient
    private let keepingAlive = Mutex<Task<Void, Never>?>(nil)
    private let hasEnded = Atomic(false)
    private let renewedAt: Mutex<ContinuousClock.Instant>

    /// Till when it lasts even if nothing more is heard of its holder: as etcd counts, or a moment less. The clock goes on while
    /// the machine sleeps.
    var end: ContinuousClock.Instant { renewedAt.withLock { $0 } + .seconds(seconds) }

    /// Whether most of its time is left.
    var isFresh: Bool { ContinuousClock.now + .seconds(seconds) * 2 / 3 < end }

    /// - Parameter seconds: For how long it lasts when nothing is heard of its holder.
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

    /// Keeps it alive until it is ended.
    func keepAlive() {
        keepingAlive.withLock { task in
            guard task == nil else { return }
            task = Task { [id, seconds, client, weak self] in
                // It throws only once it is cancelled.
                while (try? await Task.sleep(for: .seconds(seconds) / 3)) != nil {
                    let start = ContinuousClock.now
                    // One that did not get through is tried again; what was lost meanwhile, the next change notices.
                    let response = try? await client.send(.keepLeaseAlive(id), .tidying)
                    guard let result = response?.object["result"]?.objectMembers else { continue }
                    if result.int64("TTL") ?? 0 <= 0 { return }
                    self?.renewedAt.withLock { $0 = start }
                }
            }
        }
    }

    /// Keeps it alive no more, and leaves it to etcd to end it in its time.
    func leaveAlone() { keepingAlive.withLock { $0?.cancel() } }

    /// Never fails: a lease that cannot be revoked goes by itself.
    func end() async {
        guard !hasEnded.exchange(true, ordering: .relaxed) else { return }
        keepingAlive.withLock { $0?.cancel() }
        await shielded { [client, id] in _ = try? await client.send(.revokeLease(id), .tidying) }
    }
}
