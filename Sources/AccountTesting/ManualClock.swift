public import AccountKit
import Synchronization

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A clock that stands still until a test moves it, either way.
public final class ManualClock: WallClock {
    private let date: Mutex<Date>

    /// A clock that shows `date`; by default noon of 1 January 2030, UTC.
    public init(_ date: Date = Date(timeIntervalSince1970: 1_893_499_200)) {
        self.date = Mutex(date)
    }

    /// The date that it shows. Setting it steps the clock, forwards or back.
    public var now: Date {
        get { date.withLock { $0 } }
        set { date.withLock { $0 = newValue } }
    }

    /// Moves the clock; a negative duration moves it back.
    public func advance(by duration: Duration) {
        date.withLock { $0 = $0.addingTimeInterval(duration.seconds) }
    }
}
