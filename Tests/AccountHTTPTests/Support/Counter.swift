import Synchronization

/// Counts calls.
final class Counter: Sendable {
    private let count = Mutex(0)

    /// The number of this call, from 1.
    func next() -> Int {
        count.withLock {
            $0 += 1
            return $0
        }
    }

    /// How many there were.
    var value: Int { count.withLock { $0 } }
}
