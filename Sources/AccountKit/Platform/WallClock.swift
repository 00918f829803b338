#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A source of the current date, so that tests can set the date.
public protocol WallClock: Sendable {
    /// The current date in UTC. The date may be wrong, and may jump forward or back.
    var now: Date { get }
}

/// The clock of the machine.
package struct SystemWallClock: WallClock {
    package init() {}

    package var now: Date { Date() }
}
