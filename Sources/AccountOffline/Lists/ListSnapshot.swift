#if Offline
public import AccountKit

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A list as it is shown: what the service had when it was asked last, and over it what was not sent yet.
public struct ListSnapshot<Item: Sendable>: Sendable {
    /// A row.
    public struct Row: Sendable {
        /// The item's id.
        public let id: String

        /// The item.
        public let item: Item

        /// Whether it is as a change that was not sent yet has made it.
        public let isPending: Bool

        /// Whether there may be rows before this one that are not known.
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

    /// In the service's order; what was made here comes first.
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
