import Synchronization

/// A clock that does not wait, but moves forward by the requested time.
package final class InstantClock: Clock {
    package typealias Duration = Swift.Duration

    package struct Instant: InstantProtocol {
        package typealias Duration = Swift.Duration

        package var offset = Duration.zero

        package func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        package func duration(to other: Instant) -> Duration { other.offset - offset }
        package static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private let state = Mutex((now: Instant(), waits: [Duration]()))

    package init() {}

    package var now: Instant { state.withLock { $0.now } }

    package var waits: [Duration] { state.withLock { $0.waits } }

    package let minimumResolution = Duration.nanoseconds(1)

    package func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        try Task.checkCancellation()
        state.withLock { state in
            state.waits.append(state.now.duration(to: deadline))
            state.now = max(state.now, deadline)
        }
    }
}
