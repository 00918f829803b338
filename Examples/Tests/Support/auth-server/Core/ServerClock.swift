import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The server's idea of the time: a source of dates, moved by an offset that can be set while the server runs.
///
/// Everything that depends on time reads it: token lifetimes, device codes, and the `Date` field of every response.
final class ServerClock: Sendable {
    private let source: @Sendable () -> Date
    private let storedOffset = Mutex<TimeInterval>(0)

    /// - Parameter source: where the time comes from before the offset is added; the system's clock by default.
    init(source: @escaping @Sendable () -> Date = { Date() }) {
        self.source = source
    }

    /// How far the server's clock is ahead of its source, in seconds; negative when it is behind.
    var offset: TimeInterval {
        get { storedOffset.withLock { $0 } }
        set { storedOffset.withLock { $0 = newValue } }
    }

    /// The server's time.
    var now: Date { source().addingTimeInterval(offset) }
}
