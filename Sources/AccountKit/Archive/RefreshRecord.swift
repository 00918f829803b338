#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What is known of the refreshes of a session that did not bring new tokens: a small property list with dates, in the clear.
///
/// It is written before a refresh token is sent, and removed once its successor is stored. So whoever finds it knows that
/// the stored token may be spent, and how long the service is to be left alone: every process reads the same record.
struct RefreshRecord: Codable, Equatable, Sendable {
    /// When the request was sent that may have spent the stored refresh token; `nil` if none was.
    var date: Date?

    /// How many refreshes of these tokens have failed in a row.
    var failureCount: Int?

    /// The code of the last failure's ``UnverifiedReason``.
    var reason: String?

    /// When the next one may be sent.
    var nextTry: Date?

    /// When the service first answered `invalid_request` to a refresh of these tokens, and when it last did, with nothing else in
    /// between.
    var refusedSince: Date?
    var refusedAt: Date?

    /// Whether the service has refused often enough to say that the session cannot be renewed. One answer may be a mistake of a
    /// proxy or of a deployment.
    var isRefused: Bool {
        guard let refusedSince, let refusedAt else { return false }
        return refusedAt.timeIntervalSince(refusedSince) >= 60
    }

    /// The first pause, which doubles with each failure, in seconds.
    static let firstPause: TimeInterval = 2

    /// The longest pause after the service has failed.
    static let longestPause: TimeInterval = 300

    /// The longest pause after a service that was not reached: nothing there needs to be spared, and the network may be back at
    /// any moment.
    static let longestPauseOffline: TimeInterval = 5

    /// How many seconds to wait until the next try; `nil` if it may be now.
    func wait(at now: Date) -> TimeInterval? {
        guard let nextTry else { return nil }
        let wait = nextTry.timeIntervalSince(now)
        // More than was ever asked for: the clock was set back.
        return wait > 0 && wait <= Self.longestPause ? wait : nil
    }

    /// Why the service is left alone, and for how long; `nil` if it may be asked now.
    func pause(at now: Date) -> UnverifiedReason? {
        guard let wait = wait(at: now) else { return nil }
        // What else kept the other process from it may be its own affair.
        let codes = [UnverifiedReason.Code.offline, .rateLimited, .captivePortal]
        return UnverifiedReason(
            codes.first { $0.rawValue == reason } ?? .serverError, detail: "a refresh failed a moment ago",
            retryAfter: .seconds(Int(wait) + 1))
    }

    /// - Parameter jitter: A random number from 0.5 to 1, so that programs do not all come back at once.
    mutating func fail(_ reason: UnverifiedReason, at now: Date, jitter: Double) {
        let count = min((failureCount ?? 0) + 1, 1000)
        failureCount = count
        self.reason = reason.code.rawValue
        if reason.isInvalidRequest {
            refusedSince = refusedSince ?? now
            refusedAt = now
        } else if reason.code != .offline {
            (refusedSince, refusedAt) = (nil, nil)
        }
        let longest = reason.code == .offline ? Self.longestPauseOffline : Self.longestPause
        let own = min(Self.firstPause * TimeInterval(1 << min(count - 1, 16)), longest) * jitter
        let asked = reason.retryAfter.map { TimeInterval($0.components.seconds) } ?? 0
        nextTry = now.addingTimeInterval(min(max(own, asked), Self.longestPause))
    }

    func encode() throws(AccountError) -> [UInt8] {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .xml
        do {
            return [UInt8](try encoder.encode(self))
        } catch {
            throw AccountError(.inaccessible, "the refresh cannot be recorded", cause: error)
        }
    }

    static func decode(_ bytes: [UInt8]) -> RefreshRecord? {
        guard let record = try? PropertyListDecoder().decode(RefreshRecord.self, from: Data(bytes)),
            record != RefreshRecord()
        else { return nil }
        return record
    }
}

extension UnverifiedReason {
    /// Some services answer so to a refresh token that they have forgotten.
    fileprivate var isInvalidRequest: Bool {
        code == .misconfigured && detail?.hasPrefix(OAuthErrorCode.invalidRequest.rawValue) == true
    }
}
