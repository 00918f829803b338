import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The failures that only this process knows: the service refused its client secret, and other processes may have the
/// right one. This process pauses before the next request, like all processes after a shared failure.
final class OwnFailures: Sendable {
    private let record = Mutex(RefreshRecord())

    func wait(at date: Date) -> TimeInterval? { record.withLock { $0.wait(at: date) } }

    /// Adds a failure, which several callers may report.
    func add(at date: Date) {
        record.withLock { record in
            guard record.wait(at: date) == nil else { return }
            record.fail(UnverifiedReason(.misconfigured), at: date, jitter: .random(in: 0.5...1))
        }
    }

    func reset() { record.withLock { $0 = RefreshRecord() } }
}
