#if Offline
public import AccountKit
import HTTPTypes

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension OfflineCollection {
    /// Returns a stored item with unsent changes. If the app has never requested the item itself, this is the item from
    /// a list.
    ///
    /// - Parameter id: The ID from the service or from this machine.
    /// - Returns: The item, or `nil` if this machine does not have it or if an unsent change removes it.
    /// - Throws: `requestRefused` if the app cannot decode the item.
    public func item(_ id: String) async throws(AccountError) -> Remote.Item? { try await storedItem(id)?.item }

    /// A stored item.
    public struct StoredItem: Sendable {
        /// The item, with any unsent changes.
        public let item: Remote.Item

        /// The time of the response that contained the item. `nil` if this machine has created the item, or if the clock
        /// has been set back since then.
        public let asOf: Date?

        /// Whether a list has shown since then that the service has another version of the item.
        public let isOutdated: Bool
    }

    /// Returns a stored item with unsent changes, and its age. The parameter and the errors are those of ``item(_:)``.
    public func storedItem(_ id: String) async throws(AccountError) -> StoredItem? {
        try await errors {
            let id = try await outbox.serviceID(of: id) ?? id
            let overlay = Overlay(try await outbox.pending(), remote)
            let detail = try await lists.detail(of: id)
            let listed = try await lists.item(id)
            do {
                let stored = detail?.item ?? listed
                guard let row = try overlay.row(id, stored?.json, isPending: false, followsGap: false) else {
                    return nil
                }
                let standing = try await lists.standing(ofItem: id)
                var isOutdated = false
                if standing.hasChanged, let detail, let listed, let version = remote.version(of: listed) {
                    isOutdated = remote.version(of: detail.item) != version
                }
                return StoredItem(
                    item: row.item, asOf: known(detail?.asOf ?? standing.asOf), isOutdated: isOutdated)
            } catch let error as DecodingError {
                throw AccountError(.requestRefused, "the item has an unexpected form (\(error.place))", cause: error)
            }
        }
    }

    /// Requests all data of an item, and stores the data.
    ///
    /// - Throws: `requestRefused` with the service's explanation, for example if the item was deleted, or if the response
    ///   contains another item;
    ///   `serviceUnavailable` if the service is unreachable; the error of ``RemoteCollection/complete(_:from:fetching:)`` if
    ///   only a part of the item is available. In that case, AccountKit stores this part, with the data of this version that
    ///   was stored before.
    public func refreshItem(_ id: String) async throws(AccountError) {
        try await errors {
            let id = try await outbox.serviceID(of: id) ?? id
            guard !id.hasPrefix(Change.localPrefix) else { return }
            let (head, body) = try await transport(remote.request(forItem: id), nil)
            try await checkIsCurrent()
            let answer = remote.answer(head, body, to: nil)
            // Keep the item that an unsent change is about: the user may want to create it again.
            if answer == .gone, try await !outbox.pending().contains(where: { $0.change.object == id }) {
                try await lists.removeItem(id)
            }
            guard answer == .done, head.status == .ok else { throw AccountError(status: head, body, answer) }
            var item = try remote.item(head, body).requireID(id)
            let problem = try await complete(&item, fetching: transport)
            try await checkIsCurrent()
            try await lists.storeDetail(item, at: clock.now)
            if let problem { throw problem }
        }
    }

    /// Adds the data that the response omits.
    ///
    /// - Returns: The reason why data is still missing, or `nil` if the item is whole.
    func complete(_ item: inout RemoteItem, fetching fetch: RemoteTransport) async throws -> (any Error)? {
        let received = item
        let stored = try await lists.detail(of: item.id)?.item
        do {
            try await remote.complete(&item, from: stored, fetching: fetch)
            return nil
        } catch {
            // An adapter that adds all data or none leaves the item as it was.
            if item == received, let stored, let version = remote.version(of: item),
                remote.version(of: stored) == version
            {
                item = stored
            }
            return error
        }
    }

    /// Returns the service's ID of an item that this machine has created. For other items, and until the service has
    /// assigned an ID, this method returns `id`.
    public func currentID(of id: String) async throws(AccountError) -> String {
        try await errors { try await outbox.serviceID(of: id) ?? id }
    }
}

extension DecodingError {
    /// The path to the value, such as `files.a.txt`.
    fileprivate var place: String {
        switch self {
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
            context.codingPath.map(\.stringValue).joined(separator: ".")
        case .keyNotFound(let key, let context):
            (context.codingPath + [key]).map(\.stringValue).joined(separator: ".")
        @unknown default: "unknown"
        }
    }
}
#endif
