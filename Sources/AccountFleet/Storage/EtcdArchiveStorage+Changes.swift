public import AccountKit
import Synchronization

extension EtcdArchiveStorage {
    /// Tells when an entry was written or removed, on whatever machine, and once when it begins.
    ///
    /// A connection that is lost is made again, and nothing is missed: etcd is asked for what happened since.
    public func changes(of entry: ArchiveEntry) -> AsyncThrowingStream<Void, any Error> {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: Void.self, throwing: (any Error).self, bufferingPolicy: .bufferingNewest(1))
        let task = Task {
            let follower = Follower(client: client, key: key(entry.rawValue))
            var pause = Duration.milliseconds(100)
            while !Task.isCancelled {
                let start = ContinuousClock.now
                do {
                    try await mapping { try await follower.follow { continuation.yield() } }
                } catch let error as AccountError where error.code != .storeUnreachable {
                    return continuation.finish(throwing: error)
                } catch {
                    client.avoidPreferred()
                }
                // One that ends at once is as good as none.
                pause = start.duration(to: .now) > .seconds(5) ? .milliseconds(100) : min(pause * 2, .seconds(5))
                // It throws only if nobody listens any more.
                try? await Task.sleep(for: pause * Double.random(in: 0.5...1.5))
            }
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }
}

/// Knows up to which revision the changes of a key were told.
final class Follower: Sendable {
    private let client: EtcdClient
    private let key: String
    private let lastRevision: Mutex<Int64?>

    init(client: EtcdClient, key: String, lastRevision: Int64? = nil) {
        self.client = client
        self.key = key
        self.lastRevision = Mutex(lastRevision)
    }

    /// For a minute: a connection may be dead without anybody noticing.
    func follow(_ tell: @escaping @Sendable () -> Void) async throws {
        var revision = lastRevision.withLock { $0 }
        if revision == nil {
            revision = try await client.send(.range(key), .reading).object.revision
            lastRevision.withLock { $0 = revision }
            // Whoever began to listen a moment ago may have missed what happened till now.
            tell()
        }
        let call = EtcdCall.watch(key, from: (revision ?? 0) + 1, deletionsOnly: false)
        try await client.watch(call, for: .seconds(60)) { message in
            switch message {
            case .progress: return true
            case .change(let revision): self.lastRevision.withLock { $0 = revision }
            case .compacted(let revision):
                // Etcd tells nothing any more on this connection.
                self.lastRevision.withLock { $0 = revision - 1 }
                tell()
                return false
            // Gets another token, or another node.
            case .failure(let failure) where failure.isTokenExpired || failure.code == nil: return false
            case .failure(let failure): throw EtcdClient.Failure.refused(failure)
            }
            tell()
            return true
        }
    }
}
