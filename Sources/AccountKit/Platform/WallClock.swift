#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Tells the date. Injected wherever a date counts, so that tests need not wait.
public protocol WallClock: Sendable {
    /// The date now, in UTC; it may be wrong, and may step either way.
    var now: Date { get }
}

/// The clock of the machine.
public struct SystemWallClock: WallClock {
    /// The clock of the machine.
    public init() {}

    /// The date now.
    public var now: Date { Date() }
}
