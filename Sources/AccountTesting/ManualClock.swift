public import AccountKit
import AccountSupport
import Synchronization

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A clock that changes only when a test moves it forward or back.
public final class ManualClock: WallClock {
    private let date: Mutex<Date>

    /// Creates a clock with a date. The default is noon UTC on January 1, 2030.
    public init(_ date: Date = Date(timeIntervalSince1970: 1_893_499_200)) {
        self.date = Mutex(date)
    }

    /// The date of the clock.
    public var now: Date {
        get { date.withLock { $0 } }
        set { date.withLock { $0 = newValue } }
    }

    /// Moves the clock. A negative duration moves the clock back.
    public func advance(by duration: Duration) {
        date.withLock { $0 = $0.addingTimeInterval(duration.seconds) }
    }
}
