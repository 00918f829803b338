#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// How the start-up check goes about it.
public struct CheckPolicy: Sendable, Hashable {
    /// For how many seconds an earlier confirmation holds, in which the service is not asked; 0 always asks.
    public var maximumAge: TimeInterval

    /// Creates a policy.
    ///
    /// - Parameter maximumAge: For how many seconds an earlier confirmation holds.
    public init(maximumAge: TimeInterval = 0) {
        self.maximumAge = maximumAge
    }

    /// Ask the service each time.
    public static let always = CheckPolicy()
}
