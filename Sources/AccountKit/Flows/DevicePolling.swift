/// Decides when to poll again for the result of a device sign-in, and when to stop (RFC 8628, section 3.5).
struct DevicePolling: Sendable {
    enum Step: Sendable, Equatable {
        case poll(after: Duration)
        case fail(AuthorityError)
        case expired
    }

    private static let slowDown = Duration.seconds(5)
    private static let longestPause = Duration.seconds(60)

    private let lifetime: Duration
    private var interval: Duration
    private var failureCount = 0

    init(_ authorization: DeviceAuthorization) {
        lifetime = authorization.lifetime
        interval = max(authorization.interval, DeviceAuthorization.shortestInterval)
    }

    /// Returns the first poll. The poll follows after one interval, since no user enters the code sooner.
    func start() -> Step { step(after: interval, elapsed: .zero) }

    /// - Parameter elapsed: The time since the code was received, measured by a monotonic clock.
    mutating func next(after failure: AuthorityError, elapsed: Duration) -> Step {
        switch SessionDecision.afterSignIn(failure) {
        case .pollAgain(let slowDown):
            failureCount = 0
            // Increase all further intervals, not only the next interval.
            if slowDown { interval += Self.slowDown }
            return step(after: interval, elapsed: elapsed)
        case .startOver: return .expired
        case .unclear(let reason):
            switch reason.code {
            // A network failure does not end the sign-in while the code is valid.
            case .offline, .serverError, .rateLimited, .captivePortal, .unclearReply:
                failureCount += 1
                let pause = min(interval * (1 << min(failureCount, 6)), Self.longestPause)
                return step(after: max(pause, interval, min(reason.retryAfter ?? .zero, lifetime)), elapsed: elapsed)
            default: return .fail(failure)
            }
        case .refused: return .fail(failure)
        }
    }

    private func step(after pause: Duration, elapsed: Duration) -> Step {
        // Send the last poll at the end of the lifetime, not after it.
        let rest = lifetime - elapsed
        if rest <= .zero { return .expired }
        return .poll(after: min(pause, rest))
    }
}
