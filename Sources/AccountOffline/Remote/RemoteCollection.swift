#if Offline
import AccountSupport
public import HTTPTypes

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// An adapter for one kind of item at a service, such as gists. An app writes one for each kind.
///
/// An adapter only translates requests for lists and changes. This module sends and repeats requests, stores and pages
/// lists, and interprets statuses.
public protocol RemoteCollection: Sendable {
    /// An item, decoded from the JSON of the service.
    associatedtype Item: Decodable & Sendable

    /// Returns the request for a page of a list. This module adds authorization and validators.
    ///
    /// - Parameters:
    ///   - list: The name of the list, such as `starred`.
    ///   - cursor: The ``RemotePage/next`` of the previous page; `nil` for the first page.
    func request(for list: String, at cursor: String?) -> HTTPRequest

    /// Reads a page from a response with status 200 or 304. For 304, only ``RemotePage/next`` is used.
    ///
    /// - Throws: An error if the response is not a page, such as the web page of a captive portal.
    func page(_ head: HTTPResponse, _ body: Data) throws -> RemotePage

    /// Returns the cursor of a page with the item at a position and the next one, for services with numbered pages.
    ///
    /// Changes at such a service move items between pages. A page that begins with known items shows that none is
    /// missing. Returns `nil` if a cursor stays valid after changes.
    func cursor(ofItemAt position: Int) -> String?

    /// Whether an item that is missing from a list was deleted, and not only removed from this list.
    func isGone(whenMissingFrom list: String) -> Bool

    /// Returns the request for one item with all its data.
    func request(forItem id: String) -> HTTPRequest

    /// Reads the item of a response with status 200.
    func item(_ head: HTTPResponse, _ body: Data) throws -> RemoteItem

    /// Returns the version of an item, such as an entity tag, to detect concurrent changes; `nil` if there is none.
    func version(of item: RemoteItem) -> String?

    /// Returns the request for a change. The object has an id from the service, even if it was created offline.
    func request(for change: Change) throws -> (head: HTTPRequest, body: Data?)

    /// Returns an item with an unsent change.
    ///
    /// - Parameters:
    ///   - change: The change.
    ///   - item: The item as JSON; `nil` if the change creates it.
    /// - Returns: The item as JSON; `nil` if the change removes it.
    func item(_ item: Data?, with change: Change) throws -> Data?

    /// Returns the effect of an unsent change on a list.
    func effect(of change: Change, on list: String) -> ListEffect

    /// Combines two unsent changes of one object.
    func joining(_ first: Change, _ second: Change) throws -> CoalescedChanges

    /// Whether the service creates only one item if a change is sent several times, because the request contains the id
    /// of the item, which the adapter derives from ``Change/id``, or an `Idempotency-Key`. Otherwise
    /// ``standing(of:wasSent:claimed:fetching:)`` must look for the item of an earlier attempt.
    var isCreateIdempotent: Bool { get }

    /// Finds out whether a change may be sent: whether another client has changed the item, and, if the response to an
    /// earlier attempt was lost, whether that attempt was carried out.
    ///
    /// - Parameters:
    ///   - change: The change.
    ///   - wasSent: Whether an earlier attempt may have been carried out.
    ///   - claimed: Ids of items that other changes of this machine have created.
    ///   - fetch: Sends a request with authorization.
    func standing(
        of change: Change, wasSent: Bool, claimed: Set<String>, fetching fetch: RemoteTransport
    ) async throws -> ChangeStanding

    /// How long to wait after each change, if the service requires that.
    var pause: Duration { get }
}

extension RemoteCollection {
    /// Returns `nil`: by default, cursors stay valid.
    public func cursor(ofItemAt position: Int) -> String? { nil }

    /// Returns `true`: by default, an item that is missing from a list was deleted.
    public func isGone(whenMissingFrom list: String) -> Bool { true }

    /// Returns `nil`: by default, items have no version.
    public func version(of item: RemoteItem) -> String? { nil }

    /// By default, every list shows a new item first, and no list shows a removed item. This is right for a service
    /// with one list, or if all lists have all items.
    public func effect(of change: Change, on list: String) -> ListEffect {
        change.kind == .create ? .shownFirst : change.kind == .delete ? .hidden : .none
    }

    /// `false`: by default, the service assigns ids, and supports no idempotency key.
    public var isCreateIdempotent: Bool { false }

    /// By default, creating and deleting an item cancel each other out, and all other changes stay separate.
    public func joining(_ first: Change, _ second: Change) throws -> CoalescedChanges {
        first.kind == .create && second.kind == .delete ? .nothing : .both
    }

    /// By default, asks the service only if the change is an update, and the response to an earlier attempt was lost.
    ///
    /// The update counts as carried out if it would not change the item at the service. A create is sent again if
    /// ``isCreateIdempotent``; otherwise the result is unknown. All other changes are sent again, so the app's own
    /// kinds of changes must be harmless if carried out twice. The service detects other clients' changes by the
    /// request's `If-Match` header.
    public func standing(
        of change: Change, wasSent: Bool, claimed: Set<String>, fetching fetch: RemoteTransport
    ) async throws -> ChangeStanding {
        guard wasSent else { return .pending }
        if change.kind == .create { return isCreateIdempotent ? .pending : .unknown }
        guard change.kind == .update else { return .pending }
        let (head, body) = try await fetch(request(forItem: change.object), nil)
        // If the item is gone, the service refuses the change.
        if head.status == .notFound || head.status == .gone { return .pending }
        guard head.status == .ok else { throw RemoteFailure(head, body) }
        let found = try item(head, body)
        guard let changed = try item(found.json, with: change) else { return .pending }
        return try Self.content(of: changed) == Self.content(of: found.json) ? .done(found) : .pending
    }

    /// The content of a JSON text, independent of the order of members and of spaces.
    private static func content(of text: Data) throws -> JSONValue {
        try JSONDecoder().decode(JSONValue.self, from: text)
    }

    /// Zero: by default, there is no pause.
    public var pause: Duration { .zero }
}

/// Sends a request with the authorization of the account, for example with `AuthenticatedClient`.
///
/// A transport must obtain the token in the task that calls it, not in a detached one: an ``OfflineCollection`` binds
/// the task to its user, and an `AccountStore` then returns no token of another user.
public typealias RemoteTransport =
    @Sendable (_ request: HTTPRequest, _ body: Data?) async throws -> (head: HTTPResponse, body: Data)

/// An unexpected response. Its status decides what it means.
public struct RemoteFailure: Error, Sendable, CustomStringConvertible {
    /// The status and header fields.
    public let head: HTTPResponse

    /// The response body.
    public let body: Data

    /// Creates a failure.
    public init(_ head: HTTPResponse, _ body: Data) {
        self.head = head
        self.body = body
    }

    /// The status.
    public var description: String { "the service responded with status \(head.status.code)" }
}

/// An item at the service.
public struct RemoteItem: Sendable, Hashable {
    /// The id, which never changes.
    public var id: String

    /// The JSON from the service.
    public var json: Data

    /// Creates an item.
    public init(id: String, json: Data) {
        self.id = id
        self.json = json
    }

    /// Creates an item from a decoded value, for pages with several items or for a service that wraps items. Equal
    /// values give equal bytes, so that an unchanged item is not stored again. Fields that the value lacks are lost.
    public init<Value: Encodable & Identifiable>(_ value: Value) throws where Value.ID == String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        self.init(id: value.id, json: try encoder.encode(value))
    }
}

/// A page of a list.
public struct RemotePage: Sendable, Hashable {
    /// The items in the order of the service.
    public var items: [RemoteItem]

    /// The cursor of the next page; `nil` after the last one.
    public var next: String?

    /// Creates a page.
    public init(items: [RemoteItem], next: String?) {
        self.items = items
        self.next = next
    }
}

/// The effect of an unsent change on a list.
public enum ListEffect: Sendable, Hashable {
    case none
    /// The item is shown first, if it is not in the list.
    case shownFirst
    /// The item is not shown.
    case hidden
}

/// The combination of two unsent changes.
public enum CoalescedChanges: Sendable, Hashable {
    /// Both changes are sent, one after the other.
    case both
    /// One change is sent instead of both: the first change, with this kind and body.
    case one(ChangeKind, Data)
    /// The changes cancel each other out, and neither is sent.
    case nothing
}

/// Whether a change still needs to be sent.
public enum ChangeStanding: Sendable, Hashable {
    case pending
    /// An attempt whose response was lost has carried out the change. The item at the service, if there is one.
    case done(RemoteItem?)
    /// Another client has changed or removed the item. The user decides.
    case conflict(String)
    /// It is impossible to find out whether it was carried out. The user decides.
    case unknown
}
#endif
