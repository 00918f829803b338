#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// How long to leave a service alone after refreshes that failed: twice as long each time, at most five minutes, and
/// different for each process, so that they do not all come back at once. It never gives up.
struct RefreshBackoff: Sendable {
    static let first: TimeInterval = 2
    static let longest: TimeInterval = 300

    private var failureCount = 0
    private var nextTry: Date?
    private var credentials: Credentials?

    /// How long to wait until the next try for these tokens; `nil` if it may be now.
    func wait(for credentials: Credentials, at now: Date) -> TimeInterval? {
        guard let nextTry, let failed = self.credentials, failed.hasSameTokens(as: credentials) else { return nil }
        let wait = nextTry.timeIntervalSince(now)
        // More than was ever asked for: the clock was set back.
        return wait > 0 && wait <= Self.longest ? wait : nil
    }

    /// Takes note of a failure.
    ///
    /// - Parameters:
    ///   - reason: Why; the service may have said how long it wants to be left alone.
    ///   - jitter: A random number from 0.5 to 1.
    mutating func fail(for credentials: Credentials, _ reason: UnverifiedReason, at now: Date, jitter: Double) {
        let isSame = self.credentials?.hasSameTokens(as: credentials) ?? false
        failureCount = isSame ? failureCount + 1 : 1
        self.credentials = credentials
        let own = min(Self.first * TimeInterval(1 << min(failureCount - 1, 16)), Self.longest) * jitter
        let asked = reason.retryAfter.map { TimeInterval($0.components.seconds) } ?? 0
        nextTry = now.addingTimeInterval(min(max(own, asked), Self.longest))
    }

    /// Takes note of a success.
    mutating func succeed() {
        self = RefreshBackoff()
    }
}
