#if Offline
public import AccountKit

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A list to display: the rows of the last request, with unsent changes.
public struct ListSnapshot<Item: Sendable>: Sendable {
    /// A row.
    public struct Row: Sendable {
        /// The ID of the item.
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
        /// The storage of this machine. The app did not send a request to the service, or the service was unreachable.
        case disk
        /// The service has just sent the rows.
        case network
        /// The service has just confirmed the stored rows.
        case notModified
    }

    /// The rows in the order of the service. Items that this machine has created come first.
    public var rows: [Row]

    /// The time of the last response from the service. `nil` if there was none, or if the clock has been set back since
    /// then.
    public var asOf: Date?

    /// The origin of the rows.
    public var source: Source

    /// Whether there are more rows, on this machine or at the service.
    public var hasMore: Bool

    /// The IDs of stored items that the app cannot decode. The rows do not contain these items.
    public var unreadableIDs: [String] = []

    /// Whether the service sent items whose IDs cannot be read. The rows do not contain these items.
    public var hasUnidentifiedItems = false

    /// The reason why the request to the service failed. In this case, the rows are the stored rows.
    public var problem: AccountError?
}
#endif
