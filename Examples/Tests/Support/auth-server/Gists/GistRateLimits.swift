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

    /// What a user has left. Whoever has said no name shares one quota.
    func quota(of user: String?, limit: Int, now: Date) -> Quota {
        let begun = Quota(limit: limit, used: 0, reset: now.addingTimeInterval(Self.window).wholeSeconds)
        guard let quota = quotas[user ?? ""], quota.limit == limit, quota.reset > now else { return begun }
        return quota
    }

    /// Counts a request.
    mutating func count(for user: String?, limit: Int, now: Date) -> Quota {
        var quota = quota(of: user, limit: limit, now: now)
        quota.used = min(quota.limit, quota.used + 1)
        quotas[user ?? ""] = quota
        return quota
    }
}
