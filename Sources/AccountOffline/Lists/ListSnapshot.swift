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

        /// The item, with any unsent changes.
        public let item: Item

        /// Whether the item includes an unsent change.
        public let isPending: Bool

        /// Whether there may be unknown rows before this one.
        public let followsGap: Bool
    }

    /// The origin of the rows.
    public enum Source: String, Sendable, Hashable, Codable {
        /// The storage of this machine. The service was not asked, or was unreachable.
        case disk
        /// The service has just sent the rows.
        case network
        /// The service has just confirmed the stored rows.
        case notModified
    }

    /// The rows in the order of the service. Items that were created here come first.
    public var rows: [Row]

    /// When the service was last asked; `nil` if never, or if the clock has been set back since.
    public var asOf: Date?

    /// The origin of the rows.
    public var source: Source

    /// Whether there are more rows, here or at the service.
    public var hasMore: Bool

    /// Why the request to the service failed; the rows are then the stored ones.
    public var problem: AccountError?
}
#endif
