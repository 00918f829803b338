#if Offline
public import AccountKit

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A list for display: the rows of the last request, with unsent changes.
public struct ListSnapshot<Item: Sendable>: Sendable {
    /// A row.
    public struct Row: Sendable {
        /// The item's id.
        public let id: String

        /// The item.
        public let item: Item

        /// Whether it is as a change that was not sent yet has made it.
        public let isPending: Bool

        /// Whether there may be unknown rows before this one.
        public let followsGap: Bool
    }

    /// Where what is shown was found last.
    public enum Source: String, Sendable, Hashable, Codable {
        /// Stored here; the service was not asked, or could not be.
        case disk
        /// The service has just sent it.
        case network
        /// The service has just said that it is still as it was stored.
        case notModified
    }

    /// The rows in the order of the service. Items that were created here come first.
    public var rows: [Row]

    /// When the service was asked last; `nil` if never, or if the clock has been set back since.
    public var asOf: Date?

    /// Where it comes from.
    public var source: Source

    /// Whether there is more than these rows: here or at the service.
    public var hasMore: Bool

    /// Why the service could not be asked, if it was to be; the rows are those from before.
    public var problem: AccountError?
}
#endif
