#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A source of the current date, so that tests can set it.
public protocol WallClock: Sendable {
    /// The current date in UTC. It may be wrong, and may change in both directions.
    var now: Date { get }
}

/// The clock of the machine.
package struct SystemWallClock: WallClock {
    package init() {}

    package var now: Date { Date() }
}
