import AccountSupport
import Synchronization

/// The failures that only this process knows.
///
/// - The service refused its client secret, and other processes may have the right one. This process pauses before the
///   next request, like all processes after a shared failure.
/// - An API refused an access token although the token had just replaced a refused one. Another refresh would not help at
///   once, so this token is not replaced again for a minute. Otherwise each request to an API that refuses all tokens
///   would cause a refresh.
final class OwnFailures: Sendable {
    private static let pauseOfReplacement: TimeInterval = 60

    private struct State {
        var record = RefreshRecord()
        var reason: UnverifiedReason?
        var refusedReplacement: Secret?
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

    func reset() {
        state.withLock { state in
            state.record = RefreshRecord()
            state.reason = nil
        }
    }

    func addReplacement(_ credentials: Credentials) {
        state.withLock { $0.refusedReplacement = credentials.accessToken }
    }

    /// Returns whether an API has refused the token as a replacement, and it was issued less than a minute ago. A date in
    /// the future does not count, because the clock was then set back.
    func hasReplacement(_ credentials: Credentials, at date: Date) -> Bool {
        guard state.withLock({ $0.refusedReplacement == credentials.accessToken }) else { return false }
        return (0..<Self.pauseOfReplacement).contains(date.timeIntervalSince(credentials.issuedAt))
    }
}
