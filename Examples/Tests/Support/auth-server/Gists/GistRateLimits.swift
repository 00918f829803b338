#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// How many requests each user has made in the hour that began with the first of them.
///
/// Source: https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api
struct GistRateLimits: Sendable {
    /// What a user has left.
    struct Quota: Equatable, Sendable {
        let limit: Int
        var used: Int
        let reset: Date

        var remaining: Int { max(0, limit - used) }
    }

    private static let window: TimeInterval = 3600

    private var quotas: [String: Quota] = [:]
    /// When each user made the last change that was not refused.
    private var lastChanges: [String: Date] = [:]

    /// What a user has left. Whoever has said no name shares one quota.
    func quota(of user: String?, limit: Int, now: Date) -> Quota {
        let begun = Quota(limit: limit, used: 0, reset: now.addingTimeInterval(Self.window).wholeSeconds)
        guard let quota = quotas[user ?? ""], quota.limit == limit, quota.reset > now else { return begun }
        return quota
    }

    /// Lets a change pass unless it comes too soon after the user's last one.
    ///
    /// - Parameter interval: how many seconds have to be between them.
    /// - Returns: how many are missing; `nil` when the change may pass.
    mutating func admitChange(by user: String, interval: Double, now: Date) -> Double? {
        if interval > 0, let last = lastChanges[user], now < last.addingTimeInterval(interval) {
            return last.addingTimeInterval(interval).timeIntervalSince(now)
        }
        lastChanges[user] = now
        return nil
    }

    /// Counts a request.
    mutating func count(for user: String?, limit: Int, now: Date) -> Quota {
        var quota = quota(of: user, limit: limit, now: now)
        quota.used = min(quota.limit, quota.used + 1)
        quotas[user ?? ""] = quota
        return quota
    }
}
