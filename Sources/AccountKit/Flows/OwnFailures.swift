import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The failures that only this process knows: the service refused its client secret, and other processes may have the
/// right one. This process pauses before the next request, like all processes after a shared failure.
final class OwnFailures: Sendable {
    private struct State {
        var record = RefreshRecord()
        var reason: UnverifiedReason?
    }

    private let state = Mutex(State())

    /// Returns the reason of the last failure during the pause after it.
    func pause(at date: Date) -> UnverifiedReason? {
        state.withLock { state in
            guard let wait = state.record.wait(at: date) else { return nil }
            var reason = state.reason
            reason?.retryAfter = .seconds(Int(wait) + 1)
            return reason
        }
    }

    /// Adds a failure, which several callers may report.
    func add(_ reason: UnverifiedReason, at date: Date) {
        state.withLock { state in
            guard state.record.wait(at: date) == nil else { return }
            state.record.fail(reason, at: date, jitter: .random(in: 0.5...1))
            state.reason = reason
        }
    }

    func reset() { state.withLock { $0 = State() } }
}
