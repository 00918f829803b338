import AccountSupport

extension MCPBridge {
    struct Limits: Sendable {
        /// The longest message, in bytes. Other messages continue after a longer one.
        var messageByteCount = MCPBridge.maximumByteCount

        /// How long later messages wait for the delivery of `notifications/initialized`. For the response to
        /// `initialize`, they wait without a limit, because it names the session.
        var opening: Duration = .seconds(10)

        /// The time limit for beginning a new session.
        var renewal: Duration = .seconds(60)

        /// The shortest pause before a connection is opened again, even if the server requests a shorter one.
        var minimumPause: Duration = .seconds(1)

        /// A stream without an event that ends sooner counts as a failed attempt.
        var shortestStream: Duration = .seconds(10)

        /// Returns the pause before a stream is opened again. It doubles with each failure in succession.
        ///
        /// - Parameters:
        ///   - count: The number of failures.
        ///   - longest: The limit of the doubling, in seconds.
        ///   - milliseconds: The pause that the server requests.
        func pause(after count: Int, longest: Double, requested milliseconds: Int?) -> Duration {
            let requested = pause(requested: milliseconds)
            guard count > 0 else { return requested }
            let first = Double(minimumPause.components.seconds)
            return max(.seconds(BackOff(first: first, longest: longest).pause(after: count)), requested)
        }

        /// Returns the pause before a connection is opened again.
        ///
        /// - Parameter milliseconds: The pause that the server requests.
        func pause(requested milliseconds: Int?) -> Duration {
            max(.milliseconds(min(milliseconds ?? 1000, 60_000)), minimumPause)
        }
    }
}
