import AccountKit
import AccountTesting
import Foundation
import AccountCrypto
import Synchronization
import Testing

@testable import AccountSupport
import AccountSupport

/// Blocking calls run outside the cooperative thread pool.
struct BlockingWorkTests {
    /// The longest time that a task could not run during `body`, as a fraction of the duration of `body`.
    private static func longestDelay(during body: @escaping @Sendable () async throws -> Void) async throws -> Double {
        let flag = Flag()
        return try await withThrowingTaskGroup(of: Duration.self) { group in
            group.addTask {
                // This task runs whenever it can, like a task with a deadline.
                var longest = Duration.zero
                var last = ContinuousClock.now
                while !flag.isSet.load(ordering: .acquiring) {
                    await Task.yield()
                    let now = ContinuousClock.now
                    longest = max(longest, last.duration(to: now))
                    last = now
                }
                return longest
            }
            group.addTask {
                defer { flag.isSet.store(true, ordering: .releasing) }
                return try await ContinuousClock().measure { try await body() }
            }
            let (one, other) = (try await group.next()!, try await group.next()!)
            return min(one, other) / max(one, other)
        }
    }

    /// Starts at least as many unlocks as the cooperative pool has threads, so that they could occupy all threads.
    @Test func `Unlocks on all processors without delaying another task's deadline`() async throws {
        let cost = try #require(PassphraseCost(operations: 3, memoryKiB: 64 * 1024))
        let storage = InMemoryArchiveStorage()
        let passphrase = PassphraseKey(cost: cost) { _ in Secret("one two three") }
        let alice = Account.fresh(at: .now)
        let store: @Sendable () -> AccountStore = {
            AccountStore(storage: storage, appIdentifier: "testing", keys: [passphrase])
        }
        try await store().signIn { alice }
        let unlock: @Sendable () async throws -> Void = {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<max(2, ProcessInfo.processInfo.activeProcessorCount) {
                    group.addTask { #expect(await store().load().account == alice) }
                }
                try await group.waitForAll()
            }
        }
        // Other tests may occupy the threads in some of the measurements, but not in all of them.
        var delays: [Double] = []
        while delays.count < 40, delays.last ?? 1 > 0.5 { delays.append(try await Self.longestDelay(during: unlock)) }
        #expect(delays.min()! < 0.5, "the unlocks delayed a task by too much: \(delays)")
    }

    @Test func `Limits the number of worker threads, and ends idle threads`() async throws {
        let threads = WorkerThreads(limit: 3, idleSeconds: 0)
        let counts = Counts()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    await withCheckedContinuation { continuation in
                        threads.add {
                            counts.most.max(counts.running.add(1, ordering: .relaxed).newValue, ordering: .relaxed)
                            for _ in 0..<10 { sched_yield() }
                            counts.running.subtract(1, ordering: .relaxed)
                            counts.done.add(1, ordering: .relaxed)
                            continuation.resume()
                        }
                    }
                }
            }
        }
        #expect(counts.done.load(ordering: .relaxed) == 100)
        #expect((1...3).contains(counts.most.load(ordering: .relaxed)))
        while threads.threadCount > 0 { await Task.yield() }
        // New work starts a thread again.
        await withCheckedContinuation { continuation in threads.add { continuation.resume() } }
    }

    @Test func `Rethrows the error of blocking work, and ignores a cancellation`() async throws {
        await expectAccountError(.busy) {
            try await BlockingWork.run { () throws(AccountError) -> Int in throw AccountError(.busy, "") }
        }
        let gate = DispatchSemaphore(value: 0)
        let working = Task {
            await BlockingWork.run {
                gate.wait()
                return 1
            }
        }
        working.cancel()
        gate.signal()
        #expect(await working.value == 1)
    }
}

private final class Flag: Sendable {
    let isSet = Atomic(false)
}

private final class Counts: Sendable {
    let running = Atomic(0)
    let most = Atomic(0)
    let done = Atomic(0)
}
