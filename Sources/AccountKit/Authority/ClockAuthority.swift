#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// An authority that can tell what time it is at the service: for someone who wonders why tokens expire at once.
public protocol ClockAuthority: AccountAuthority {
    /// Asks the service for the time.
    ///
    /// - Returns: How many seconds its clock is ahead of this machine's, to about a second; `nil` if it does not tell.
    /// - Throws: An ``AuthorityError``.
    func clockOffset() async throws -> TimeInterval?
}
