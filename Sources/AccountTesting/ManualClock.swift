public import AccountKit
import AccountSupport
import Synchronization

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A clock that changes only when a test moves it, forwards or back.
public final class ManualClock: WallClock {
    private let date: Mutex<Date>

    /// Creates a clock with a date; by default noon of 1 January 2030, UTC.
    public init(_ date: Date = Date(timeIntervalSince1970: 1_893_499_200)) {
        self.date = Mutex(date)
    }

    /// The date of the clock.
    public var now: Date {
        get { date.withLock { $0 } }
        set { date.withLock { $0 = newValue } }
    }

    /// Moves the clock; a negative duration moves it back.
    public func advance(by duration: Duration) {
        date.withLock { $0 = $0.addingTimeInterval(duration.seconds) }
    }
}
