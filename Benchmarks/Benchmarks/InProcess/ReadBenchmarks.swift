import AccountKit
import Benchmark
import Foundation
import SampleAccount
import Synchronization

/// The number of reads in one measurement, so that starting threads has no effect.
private let readCount = 20_000

/// Reads the account in memory from one thread and from two at once, from the store and from a bare `Mutex`.
func readBenchmarks() {
    for (threads, suffix) in [(1, ""), (2, ", two threads")] {
        Benchmark("read: store\(suffix)") { (benchmark: Benchmark, store: AccountStore) in
            benchmark.startMeasurement()
            onThreads(threads) {
                for _ in 0..<readCount { blackHole(store.account) }
            }
            benchmark.stopMeasurement()
        } setup: {
            let place = try Place("read\(threads)")
            return try await place.signedInStore()
        }

        Benchmark("read: bare Mutex\(suffix)") { (benchmark: Benchmark, box: Box) in
            benchmark.startMeasurement()
            onThreads(threads) {
                for _ in 0..<readCount { blackHole(box.account.withLock { $0 }) }
            }
            benchmark.stopMeasurement()
        } setup: {
            Box()
        }
    }
}

/// An account behind a bare `Mutex`, without this package.
private final class Box: Sendable {
    let account = Mutex<Account?>(.sample())
}

private func onThreads(_ count: Int, _ body: @escaping @Sendable () -> Void) {
    guard count > 1 else { return body() }
    DispatchQueue.concurrentPerform(iterations: count) { _ in body() }
}
