import AccountKit
import AccountTesting
import Foundation
import Synchronization
import Testing

@testable import AccountFleet

/// Tests with three nodes.
@Suite(.serialized) struct EtcdFailoverTests {
    /// Each writer adds its own marks, one after the other, while the leader is killed and restarted.
    @Test func `Neither loses nor repeats a confirmed write if the leader is killed`() async throws {
        let cluster = try await EtcdCluster(nodeCount: 3)
        try await cluster.waitUntilReady()
        let confirmed = Confirmed()
        let rounds = 2
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<3 {
                group.addTask {
                    let storage = try cluster.storage("writes", machine: TemporaryFolder())
                    for number in 0..<20 {
                        let mark = UInt8(writer * 64 + number)
                        if try await storage.add(mark) { confirmed.add(mark) }
                    }
                }
            }
            group.addTask {
                var additions = confirmed.additions.makeAsyncIterator()
                for round in 1...rounds {
                    // Wait for ten more confirmed writes while the writers are running.
                    while confirmed.count < round * 10 { await additions.next() }
                    let leader = try cluster.leader()
                    cluster.kill(leader)
                    let target = min(60, confirmed.count + 5)
                    while confirmed.count < target { await additions.next() }
                    try cluster.start(leader)
                }
            }
            try await group.waitForAll()
        }
        let marks = try #require(try await cluster.storage("writes", machine: TemporaryFolder()).read(.account)?.bytes)
        #expect(Set(marks).count == marks.count, "each mark is stored only once")
        #expect(confirmed.marks.withLock { Set($0) } == Set(marks), "exactly the confirmed marks are stored")
        for writer in 0..<3 {
            let own = marks.filter { $0 / 64 == writer }
            #expect(own == own.sorted(), "the marks are in the order of the writes")
        }
    }

    @Test func `Reads from the replica and fails writes without a quorum`() async throws {
        let cluster = try await EtcdCluster(nodeCount: 3)
        try await cluster.waitUntilReady()
        let machine = try TemporaryFolder()
        let storage = try cluster.storage("quorum", machine: machine)
        let revision = try await storage.write([1])
        cluster.kill("node1")
        #expect(try await storage.write([2]) != revision, "two of three are enough")
        cluster.kill("node2")
        // Use the same storage object and a new storage object.
        for storage in [storage, try cluster.storage("quorum", machine: machine)] {
            let stored = try #require(try await storage.read(.account))
            #expect(stored.bytes == [2] && stored.asOf != nil)
            await expectAccountError(.storeUnreachable, "no transaction begins without a quorum") {
                _ = try await storage.beginTransaction(timeout: .zero)
            }
        }
        try cluster.start("node2")
        try await cluster.waitUntilReady()
        try await storage.write([3])
        // On a busy machine, the first reads may take too long, and return the replica.
        let deadline = ContinuousClock.now + .seconds(120)
        var last: StoredEntry?
        repeat { last = try await storage.read(.account) } while last?.asOf != nil && .now < deadline
        #expect(last?.bytes == [3] && last?.asOf == nil)
    }
}

private final class Confirmed: Sendable {
    let marks = Mutex<[UInt8]>([])
    let additions: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() { (additions, continuation) = AsyncStream.makeStream(of: Void.self) }

    var count: Int { marks.withLock { $0.count } }

    func add(_ mark: UInt8) {
        marks.withLock { $0.append(mark) }
        continuation.yield()
    }
}

extension EtcdArchiveStorage {
    /// Appends a mark.
    ///
    /// Retries if a transaction could not begin.
    ///
    /// - Returns: Whether the mark is known to be stored.
    fileprivate func add(_ mark: UInt8) async throws -> Bool {
        let deadline = ContinuousClock.now + .seconds(300)
        while true {
            let transaction: any ArchiveTransaction
            let stored: StoredEntry?
            do {
                transaction = try await beginTransaction(timeout: .seconds(120))
            } catch let error as AccountError where error.code == .storeUnreachable && ContinuousClock.now < deadline {
                continue
            }
            do {
                stored = try await transaction.read(.account)
                _ = try await transaction.replace(
                    .account, with: (stored?.bytes ?? []) + [mark], ifRevision: stored?.revision)
                await transaction.end()
                return true
            } catch let error as AccountError
                where [.storeUnreachable, .conflict].contains(error.code) && ContinuousClock.now < deadline
            {
                await transaction.end()
                // After a conflict, the mark is certainly not stored. After any other error, read the marks.
                if error.code == .conflict { continue }
            }
            while ContinuousClock.now < deadline {
                guard let now = try? await newest(.account) else { continue }
                if now.value.contains(mark) { return true }
                break
            }
        }
    }
}
