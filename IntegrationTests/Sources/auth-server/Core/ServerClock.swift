import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The server's clock: a source of dates plus an offset that can be set while the server runs.
///
/// Token lifetimes, device codes, and the `Date` field of every response depend on it.
final class ServerClock: Sendable {
    private let source: @Sendable () -> Date
    private let storedOffset = Mutex<TimeInterval>(0)

    /// - Parameter source: Returns the time before the offset is added. The default is the system's clock.
    init(source: @escaping @Sendable () -> Date = { Date() }) {
        self.source = source
    }

    /// The seconds by which the server's clock is ahead of its source. A negative value means that the clock is behind.
    var offset: TimeInterval {
        get { storedOffset.withLock { $0 } }
        set { storedOffset.withLock { $0 = newValue } }
    }

    /// The server's time.
    var now: Date { source().addingTimeInterval(offset) }
}
