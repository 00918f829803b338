import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

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
