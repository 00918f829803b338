#if Offline
public import HTTPTypes

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// What a service has of one kind, such as gists: how its lists are asked for, and how changes are sent. An app writes one for each.
///
/// It only translates. Sending, storing, paging, repeating and judging statuses is this module's work, and the same for all
/// services.
public protocol RemoteCollection: Sendable {
    /// An item, decoded from the service's JSON.
    associatedtype Item: Decodable & Sendable

    /// The request for a page of a list; authorization and validators are added.
    ///
    /// - Parameters:
    ///   - list: The list's name, such as `starred`.
    ///   - cursor: What ``RemotePage/next`` of the page before said; `nil` for the first page.
    func request(for list: String, at cursor: String?) -> HTTPRequest

    /// Reads a page from a response of status 200 or 304; of the latter, only ``RemotePage/next`` counts.
    ///
    /// - Throws: If the response is something else than a page, such as the web page of a captive portal.
    func page(_ head: HTTPResponse, _ body: Data) throws -> RemotePage

    /// The cursor of a page that has the item at a position of a list and also the one after it, for services that number their
    /// pages: what was changed there meanwhile moves items from page to page, and a page that begins with what is known shows
    /// that nothing is missing in between. `nil` where a cursor stays good whatever changes.
    func cursor(ofItemAt position: Int) -> String?

    /// Whether an item that a list does not have any more is gone altogether, rather than only not in this list.
    func isGone(whenMissingFrom list: String) -> Bool

    /// The request for one item, with everything that is known of it.
    func request(forItem id: String) -> HTTPRequest

    /// Reads the item of a response of status 200.
    func item(_ head: HTTPResponse, _ body: Data) throws -> RemoteItem

    /// What tells one version of an item from others, for changes that say which one they were made on; `nil` where there is no
    /// such thing.
    func version(of item: RemoteItem) -> String?

    /// The request that carries out a change. The object is the service's: one that was made offline has its id by then.
    func request(for change: Change) throws -> (head: HTTPRequest, body: Data?)

    /// How an item looks with a change that was not sent yet.
    ///
    /// - Parameters:
    ///   - change: The change.
    ///   - item: The item as JSON; `nil` if it is only made by the change.
    /// - Returns: The item as JSON; `nil` if it is removed.
    func item(_ item: Data?, with change: Change) throws -> Data?

    /// What a change does to a list, as far as is known before the service has carried it out.
    func effect(of change: Change, on list: String) -> ListEffect

    /// What two changes of one object come to of which neither was sent yet.
    func joining(_ first: Change, _ second: Change) throws -> CoalescedChanges

    /// Whether the service makes one item of a change, however often that is sent: it takes the item's id from the request, where
    /// the adapter makes one of ``Change/id``, or honours an `Idempotency-Key`. Otherwise ``standing(of:wasSent:claimed:fetching:)``
    /// must look for what an earlier attempt has made.
    var isCreateIdempotent: Bool { get }

    /// Looks whether a change may be sent: whether somebody else has changed the item since, and, where the response to an
    /// earlier attempt was lost, whether that was carried out.
    ///
    /// - Parameters:
    ///   - change: The change.
    ///   - wasSent: Whether it may have been carried out already.
    ///   - claimed: Ids that other changes of this machine have made.
    ///   - fetch: Sends a request with authorization.
    func standing(
        of change: Change, wasSent: Bool, claimed: Set<String>, fetching fetch: RemoteTransport
    ) async throws -> ChangeStanding

    /// How long to wait after each change that was sent, where the service asks for that.
    var pause: Duration { get }
}

extension RemoteCollection {
    /// A cursor stays good.
    public func cursor(ofItemAt position: Int) -> String? { nil }

    /// It is.
    public func isGone(whenMissingFrom list: String) -> Bool { true }

    /// There is none.
    public func version(of item: RemoteItem) -> String? { nil }

    /// An item that is made is shown first in every list, and one that is removed in none: right where a service has one list, or
    /// where all of them have all items.
    public func effect(of change: Change, on list: String) -> ListEffect {
        change.kind == .create ? .shownFirst : change.kind == .delete ? .hidden : .none
    }

    /// It does not: it gives ids of its own, and knows no key.
    public var isCreateIdempotent: Bool { false }

    /// Made and deleted is nothing; all else stays apart.
    public func joining(_ first: Change, _ second: Change) throws -> CoalescedChanges {
        first.kind == .create && second.kind == .delete ? .nothing : .both
    }

    /// Looks only after an attempt whose response was lost.
    ///
    /// An update was carried out if it would leave the item as it is now. A create is sent again where ``isCreateIdempotent``; elsewhere
    /// nobody can tell. All else is sent again: of a change of the app's own this takes for granted that it does no harm twice.
    /// Whether somebody else has changed the item is left to the service, to which the request says by `If-Match` which version
    /// the change was made on.
    public func standing(
        of change: Change, wasSent: Bool, claimed: Set<String>, fetching fetch: RemoteTransport
    ) async throws -> ChangeStanding {
        guard wasSent else { return .pending }
        if change.kind == .create { return isCreateIdempotent ? .pending : .unknown }
        guard change.kind == .update else { return .pending }
        let (head, body) = try await fetch(request(forItem: change.object), nil)
        // That it is gone, the service says to the change.
        if head.status == .notFound || head.status == .gone { return .pending }
        guard head.status == .ok else { throw RemoteFailure(head, body) }
        let found = try item(head, body)
        guard let changed = try item(found.json, with: change) else { return .pending }
        return try JSONContent(changed) == JSONContent(found.json) ? .done(found) : .pending
    }

    /// None.
    public var pause: Duration { .zero }
}

/// Sends a request to its end with the account's authorization, such as `AuthenticatedClient` does.
///
/// A transport that obtains the token itself does so in the task that calls it, not in a detached one: an ``OfflineCollection`` binds
/// the task to its user, and an `AccountStore` then returns no token of another user.
public typealias RemoteTransport =
    @Sendable (_ request: HTTPRequest, _ body: Data?) async throws -> (head: HTTPResponse, body: Data)

/// A response that is not what an adapter asked for; what it means is judged by its status.
public struct RemoteFailure: Error, Sendable, CustomStringConvertible {
    /// Status and header fields.
    public let head: HTTPResponse

    /// The body.
    public let body: Data

    /// Creates a failure.
    public init(_ head: HTTPResponse, _ body: Data) {
        self.head = head
        self.body = body
    }

    /// The status.
    public var description: String { "the service responded with status \(head.status.code)" }
}

/// An item as the service has it.
public struct RemoteItem: Sendable, Hashable {
    /// Its id, the same for ever.
    public var id: String

    /// Its JSON, as the service sent it.
    public var json: Data

    /// Creates an item.
    public init(id: String, json: Data) {
        self.id = id
        self.json = json
    }

    /// Creates an item from a value that was decoded: where a page has many, or where the service wraps it up. The same value gives
    /// the same bytes, so that what has not changed is not stored again. Fields that the value does not have are lost.
    public init<Value: Encodable & Identifiable>(_ value: Value) throws where Value.ID == String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        self.init(id: value.id, json: try encoder.encode(value))
    }
}

/// A page of a list.
public struct RemotePage: Sendable, Hashable {
    /// In the service's order.
    public var items: [RemoteItem]

    /// Where the next page is; `nil` after the last one.
    public var next: String?

    /// Creates a page.
    public init(items: [RemoteItem], next: String?) {
        self.items = items
        self.next = next
    }
}

/// What a change does to a list before the service has carried it out.
public enum ListEffect: Sendable, Hashable {
    case none
    /// The item is shown first, if it is not in the list.
    case shownFirst
    /// The item is not shown.
    case hidden
}

/// What two changes come to that were not sent yet.
public enum CoalescedChanges: Sendable, Hashable {
    /// Both are to be sent, one after the other.
    case both
    /// One is to be sent in place of both: the first one with this kind and body.
    case one(ChangeKind, Data)
    /// There is nothing left to be sent.
    case nothing
}

/// Whether a change is still to be sent.
public enum ChangeStanding: Sendable, Hashable {
    case pending
    /// It has been carried out, by an attempt whose response was lost; and what the item is now, if there is one.
    case done(RemoteItem?)
    /// Somebody else has changed the item meanwhile, or removed it: a person decides.
    case conflict(String)
    /// There is no way to find out whether it was carried out: a person decides.
    case unknown
}
#endif
