#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The number of requests of each user. The hour of a user starts with the first request.
///
/// Source: https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api
struct GistRateLimits: Sendable {
    /// The remaining requests of a user.
    struct Quota: Equatable, Sendable {
        let limit: Int
        var used: Int
        let reset: Date

        var remaining: Int { max(0, limit - used) }
    }

    private static let window: TimeInterval = 3600

    private var quotas: [String: Quota] = [:]
    /// The time of each user's last accepted change.
    private var lastChanges: [String: Date] = [:]

    /// The remaining requests of a user. Requests without a user share one quota.
    func quota(of user: String?, limit: Int, now: Date) -> Quota {
        let begun = Quota(limit: limit, used: 0, reset: now.addingTimeInterval(Self.window).wholeSeconds)
        guard let quota = quotas[user ?? ""], quota.limit == limit, quota.reset > now else { return begun }
        return quota
    }

    /// Accepts a change unless it follows the user's last change too soon.
    ///
    /// - Parameter interval: The minimum number of seconds between changes.
    /// - Returns: The number of seconds to wait, or `nil` if the change is accepted.
    mutating func admitChange(by user: String, interval: Double, now: Date) -> Double? {
        if interval > 0, let last = lastChanges[user], now < last.addingTimeInterval(interval) {
            return last.addingTimeInterval(interval).timeIntervalSince(now)
        }
        lastChanges[user] = now
        return nil
    }

    /// Counts a request against the user's quota, and returns the quota.
    mutating func count(for user: String?, limit: Int, now: Date) -> Quota {
        var quota = quota(of: user, limit: limit, now: now)
        quota.used = min(quota.limit, quota.used + 1)
        quotas[user ?? ""] = quota
        return quota
    }
}
