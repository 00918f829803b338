#if Offline
import AccountSupport
import HTTPTypes
import Synchronization

/// The responses of the service that a synchronization has received.
final class ServiceContact: Sendable {
    private struct State {
        var latestTime: Date?
        var hasResponse = false
    }

    private let state = Mutex(State())

    /// The latest time of the service, or `nil` if no response contained a time.
    var latestTime: Date? { state.withLock { $0.latestTime } }

    /// Notes a response of the service, and its `Date` (RFC 9110, section 6.6.1). A response from a cache has an older
    /// date, which is also a time before the next request.
    func note(_ head: HTTPResponse) {
        let time = head.headerFields[values: .date].first.flatMap { HTTPDate.date(from: $0) }
        state.withLock { state in
            state.hasResponse = true
            state.latestTime = time ?? state.latestTime
        }
    }

    /// Returns whether the service has responded since the last call.
    func takeResponse() -> Bool {
        state.withLock { state in
            defer { state.hasResponse = false }
            return state.hasResponse
        }
    }
}
#endif
