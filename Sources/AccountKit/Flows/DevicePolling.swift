/// Decides when to poll again for the result of a device sign-in, and when to stop (RFC 8628, section 3.5).
struct DevicePolling: Sendable {
    private static let slowDown = Duration.seconds(5)
    private static let longestPause = Duration.seconds(60)
    private static let expired = AuthorityError.oauthError("expired_token")

    private let lifetime: Duration
    private var interval: Duration
    private var failureCount = 0

    init(_ authorization: DeviceAuthorization) {
        lifetime = authorization.lifetime
        interval = max(authorization.interval, DeviceAuthorization.shortestInterval)
    }

    /// Returns the pause before the first poll: one interval, since no user enters the code sooner.
    func firstPause() throws(AuthorityError) -> Duration { try limited(interval, elapsed: .zero) }

    /// Returns the pause before the next poll, or throws an error if there is none.
    ///
    /// - Parameter elapsed: The time since the code was received, measured by a monotonic clock.
    mutating func pause(after failure: AuthorityError, elapsed: Duration) throws(AuthorityError) -> Duration {
        switch SessionDecision.afterSignIn(failure) {
        case .pollAgain(let slowDown):
            failureCount = 0
            // Increase all further intervals, not only the next interval.
            if slowDown { interval += Self.slowDown }
            return try limited(interval, elapsed: elapsed)
        case .startOver: throw Self.expired
        case .unclear(let reason):
            switch reason.code {
            // A network failure does not end the sign-in while the code is valid.
            case .offline, .serverError, .rateLimited, .captivePortal, .unclearReply:
                failureCount += 1
                let pause = min(interval * (1 << min(failureCount, 6)), Self.longestPause)
                return try limited(max(pause, interval, min(reason.retryAfter ?? .zero, lifetime)), elapsed: elapsed)
            default: throw failure
            }
        case .refused: throw failure
        }
    }

    private func limited(_ pause: Duration, elapsed: Duration) throws(AuthorityError) -> Duration {
        // Send the last poll at the end of the lifetime, not after it.
        let rest = lifetime - elapsed
        if rest <= .zero { throw Self.expired }
        return min(pause, rest)
    }
}
