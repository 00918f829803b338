import AccountSupport
import Synchronization

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

/// The last access token that an API refused although the token had just replaced a refused one. Another refresh would
/// not help at once, so this token is not replaced again for a minute. Otherwise each request to an API that refuses all
/// tokens would cause a refresh.
final class RefusedReplacement: Sendable {
    private static let pause: TimeInterval = 60

    private let token = Mutex<Secret?>(nil)

    func note(_ credentials: Credentials) {
        token.withLock { $0 = credentials.accessToken }
    }

    /// Returns whether the token was refused as a replacement, and was issued less than a minute ago. A date in the future
    /// does not count, because the clock was then set back.
    func isRecent(_ credentials: Credentials, at date: Date) -> Bool {
        guard token.withLock({ $0 == credentials.accessToken }) else { return false }
        return (0..<Self.pause).contains(date.timeIntervalSince(credentials.issuedAt))
    }
}
