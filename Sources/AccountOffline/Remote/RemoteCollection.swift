#if Offline
import AccountKit
import AccountSupport
public import HTTPTypes

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// An adapter for one kind of item at a service, such as gists. An app implements one adapter for each kind.
///
/// An adapter only creates requests for lists and changes, recognizes the responses of the service, and parses them.
/// This module sends and repeats requests, stores lists and divides them into pages, and decides what a response means
/// for a change.
public protocol RemoteCollection: Sendable {
    /// An item, decoded from the JSON of the service.
    associatedtype Item: Decodable & Sendable

    /// Returns the request for a page of a list. This module adds authorization and validators.
    ///
    /// - Parameters:
    ///   - list: The name of the list, such as `starred`.
    ///   - cursor: The ``RemotePage/next`` of the previous page, or `nil` for the first page.
    func request(for list: String, at cursor: String?) -> HTTPRequest

    /// Parses a page from a response with status 200 or 304. For status 304, AccountKit uses only ``RemotePage/next``.
    ///
    /// Use ``RemotePage/init(elementsOf:at:id:next:)`` instead of decoding all items: an item that this method cannot
    /// read must not hide the other items. Return an item even if its form is unexpected, so that it counts as present.
    ///
    /// - Throws: An error if the response is not a page, such as the web page of a captive portal.
    func page(_ head: HTTPResponse, _ body: Data) throws -> RemotePage

    /// Returns the cursor of a page that contains the item at a position and, if possible, the next item, for services
    /// with numbered pages.
    ///
    /// At these services, changes move items between pages. If a page begins with known items, no item is missing
    /// before the page. Return `nil` if cursors stay valid after changes.
    func cursor(ofItemAt position: Int) -> String?

    /// Returns the cursor of the page after a page that has no link to the next one, or `nil` if such a page is the last one.
    ///
    /// Implement this method if a service, or a proxy in front of it, may omit the links: a page with fewer items than
    /// requested is the last one, and any other page may have a successor. Otherwise, the list may end too early.
    ///
    /// - Parameters:
    ///   - cursor: The cursor of the page, or `nil` for the first page.
    ///   - itemCount: The number of items on the page.
    ///   - head: The response with status 200.
    func cursor(after cursor: String?, itemCount: Int, _ head: HTTPResponse) -> String?

    /// Returns whether an item that is missing from a list was deleted, and not only removed from this list.
    func isGone(whenMissingFrom list: String) -> Bool

    /// Returns the request for one item with all its data.
    func request(forItem id: String) -> HTTPRequest

    /// Parses the item in a response with status 200.
    func item(_ head: HTTPResponse, _ body: Data) throws -> RemoteItem

    /// Adds the data that a response omits, for services that shorten long items and send the rest at another URL.
    ///
    /// If one of several parts is not available, add the other parts before you throw an error: AccountKit stores the item as
    /// it then is. Reuse the parts of `stored` that still belong to the item, such as a text with the same URL.
    ///
    /// - Parameters:
    ///   - item: The item in the response.
    ///   - stored: The item that was stored last, which may be another version, or `nil` if there is none.
    ///   - fetch: The function that sends requests. The request of a URL at another host names the host in its
    ///     `authority`; such a request must not contain a token.
    /// - Throws: An error if not all data is available. If this method has not changed the item, AccountKit keeps the stored
    ///   item if it is of the same version.
    func complete(_ item: inout RemoteItem, from stored: RemoteItem?, fetching fetch: RemoteTransport) async throws

    /// Returns the version of an item, such as an entity tag, to detect concurrent changes. Returns `nil` if there is
    /// none.
    func version(of item: RemoteItem) -> String?

    /// Returns the request for a change. The object of the change has an ID from the service, even if the item was
    /// created offline.
    func request(for change: Change) throws -> (head: HTTPRequest, body: Data?)

    /// Returns what a response says about a change or an item, according to its status and its form.
    ///
    /// Other servers respond too: the web page of a captive portal has status 200, and a proxy responds with its own
    /// 404. Recognize the service by the form of the body, or by a header field that only the service sends. AccountKit
    /// uses the status of a response that asks for a retry: 408, 421, 423, 425, 429, 5xx, and 403 because of a rate limit.
    ///
    /// If the service hides an item from users without permission behind a 404, AccountKit checks whether the item still
    /// exists before it counts the item as deleted. If the response contains the reason, return ``RemoteAnswer/refused``.
    ///
    /// - Parameters:
    ///   - head: The status and header fields.
    ///   - body: The body.
    ///   - change: The kind of the change, or `nil` for the response to ``request(forItem:)``, and for other responses
    ///     to an adapter's own requests.
    func answer(_ head: HTTPResponse, _ body: Data, to change: ChangeKind?) -> RemoteAnswer

    /// Applies an unsent change to an item.
    ///
    /// - Parameters:
    ///   - change: The change.
    ///   - item: The item as JSON, or `nil` if the change creates the item, or if the item is no longer stored, for
    ///     example because the service has deleted it.
    /// - Returns: The item as JSON, or `nil` if the change removes the item.
    func item(_ item: Data?, with change: Change) throws -> Data?

    /// Returns the effect of an unsent change on a list.
    func effect(of change: Change, on list: String) -> ListEffect

    /// Combines two changes of one item that the service has not applied: unsent changes, or a change that the user makes
    /// to correct a refused one.
    ///
    /// - Returns: Both changes to send them one after the other, no changes if they cancel each other out, or one change with
    ///   the kind and the body to send.
    func joining(_ first: Change, _ second: Change) throws -> [Change]

    /// Whether the service creates only one item if the app sends a change several times. This is the case if the
    /// request contains an `Idempotency-Key`, or an ID for the item that the adapter derives from ``Change/id``.
    /// Otherwise, implement ``chosenID(for:)``, or look for the item of an earlier attempt in
    /// ``standing(of:wasSent:claimed:fetching:)``. Also do that if the service responds to the second request with an error
    /// such as 409.
    var isCreateIdempotent: Bool { get }

    /// Returns the ID that the request of a create gives to the new item, or `nil` if the service assigns the ID.
    ///
    /// The ID must be derived from ``Change/id``, so that no other item has it. If the response to a create was lost, or if
    /// the service responds to a repeated create with an error such as 409, AccountKit then requests the item by this ID.
    func chosenID(for change: Change) -> String?

    /// Determines whether to send a change. This method checks whether another client has changed the item. If the
    /// response to an earlier attempt was lost, it also checks whether the service has applied that attempt.
    ///
    /// Compare the whole content: if the service cuts off long values, request the rest. To find the item of an earlier
    /// attempt by its date, use ``Change/sentAfter``, which does not depend on the clock of this machine.
    ///
    /// If this method throws an error, the change keeps its state, and AccountKit continues with the changes of other
    /// items.
    ///
    /// - Parameters:
    ///   - change: The change.
    ///   - wasSent: Whether the service may have applied an earlier attempt.
    ///   - claimed: The IDs of items that other changes of this machine have created.
    ///   - fetch: The function that sends a request with authorization.
    func standing(
        of change: Change, wasSent: Bool, claimed: Set<String>, fetching fetch: RemoteTransport
    ) async throws -> ChangeStanding

    /// The time to wait after each change, if the service requires a pause.
    var pause: Duration { get }

    /// The time after an attempt within which the service may still create the item, or show it in a search.
    ///
    /// A service may process a request whose connection was interrupted, and may show a new item late. If the response to a
    /// create was lost and ``standing(of:wasSent:claimed:fetching:)`` does not find the item, the synchronization waits for this
    /// time, once for all changes, and calls this method again, before it sends the create again.
    var searchDelay: Duration { get }
}

extension RemoteCollection {
    /// Returns `nil`: by default, cursors stay valid.
    public func cursor(ofItemAt position: Int) -> String? { nil }

    /// Returns `nil`: by default, a page without a link to the next one is the last one.
    public func cursor(after cursor: String?, itemCount: Int, _ head: HTTPResponse) -> String? { nil }

    /// Returns `true`: by default, an item that is missing from a list is considered deleted.
    public func isGone(whenMissingFrom list: String) -> Bool { true }

    /// Does nothing: by default, responses contain whole items.
    public func complete(
        _ item: inout RemoteItem, from stored: RemoteItem?, fetching fetch: RemoteTransport
    ) async throws {}

    /// Returns `nil`: by default, items have no version.
    public func version(of item: RemoteItem) -> String? { nil }

    /// Returns the default effect: every list shows a new item first, and no list shows a removed item. This is correct
    /// for a service with one list, or if each list contains all items.
    public func effect(of change: Change, on list: String) -> ListEffect {
        change.kind == .create ? .shownFirst : change.kind == .delete ? .hidden : .none
    }

    /// The default is `false`: the service assigns IDs and supports no idempotency keys.
    public var isCreateIdempotent: Bool { false }

    /// Returns `nil`: by default, the service assigns IDs.
    public func chosenID(for change: Change) -> String? { nil }

    /// The default is ``RemoteAnswer/init(json:_:to:)``, for a service that sends JSON.
    public func answer(_ head: HTTPResponse, _ body: Data, to change: ChangeKind?) -> RemoteAnswer {
        RemoteAnswer(json: head, body, to: change)
    }

    /// Fetches an item with all its data.
    ///
    /// - Returns: The item, or `nil` if the service answers that there is no such item.
    /// - Throws: ``RemoteFailure`` for any other response, such as the page of a captive portal; `requestRefused` if the
    ///   response contains another item.
    public func item(_ id: String, fetching fetch: RemoteTransport) async throws -> RemoteItem? {
        let (head, body) = try await fetch(request(forItem: id), nil)
        return switch answer(head, body, to: nil) {
        case .done where head.status == .ok: try item(head, body).requireID(id)
        case .gone: nil
        default: throw RemoteFailure(head, body)
        }
    }

    /// Combines two changes. By default, the creation and the deletion of an item cancel each other out, and all other
    /// changes stay separate.
    public func joining(_ first: Change, _ second: Change) throws -> [Change] {
        first.kind == .create && second.kind == .delete ? [] : [first, second]
    }

    /// Determines whether to send a change. By default, this method sends a request only if the change is an update and
    /// the response to an earlier attempt was lost.
    ///
    /// If the update would not change the item at the service, it counts as applied. If the change creates an item whose ID
    /// the client chooses, this method requests the item by ``chosenID(for:)``. Otherwise, AccountKit sends the change
    /// again if ``isCreateIdempotent`` is `true`, or the result is unknown.
    /// AccountKit sends all other changes again, so an app's own kinds of changes must be harmless if the service
    /// applies them twice. The service detects changes by other clients with the request's `If-Match` header.
    public func standing(
        of change: Change, wasSent: Bool, claimed: Set<String>, fetching fetch: RemoteTransport
    ) async throws -> ChangeStanding {
        guard wasSent else { return .pending }
        if change.kind == .create {
            guard let id = chosenID(for: change) else { return isCreateIdempotent ? .pending : .unknown }
            return try await item(id, fetching: fetch).map { .done($0) } ?? .pending
        }
        guard change.kind == .update else { return .pending }
        // If the item was deleted, the service will reject the change.
        guard let found = try await item(change.object, fetching: fetch) else { return .pending }
        guard let changed = try item(found.json, with: change) else { return .pending }
        return try Self.content(of: changed) == Self.content(of: found.json) ? .done(found) : .pending
    }

    /// Returns the content of a JSON text, independent of spaces and of the order of members.
    private static func content(of text: Data) throws -> JSONValue {
        guard let value = text.withUnsafeBytes({ JSONValue($0) }) else {
            throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "the item is not JSON"))
        }
        return value
    }

    /// The default is zero: there is no pause.
    public var pause: Duration { .zero }

    /// The default is zero: a search finds each item that the service creates.
    public var searchDelay: Duration { .zero }
}

/// A function that sends a request with the authorization of the account, for example with `AuthenticatedClient`.
///
/// A transport must obtain the token in the task that calls it, not in a detached task. An ``OfflineCollection`` binds
/// the task to its user, so that an `AccountStore` does not return the token of another user.
public typealias RemoteTransport =
    @Sendable (_ request: HTTPRequest, _ body: Data?) async throws -> (head: HTTPResponse, body: Data)

/// An unexpected response. ``RemoteCollection/answer(_:_:to:)`` determines its meaning.
public struct RemoteFailure: Error, Sendable, CustomStringConvertible {
    let head: HTTPResponse
    let body: Data

    /// Creates a failure.
    public init(_ head: HTTPResponse, _ body: Data) {
        self.head = head
        self.body = body
    }

    /// A message with the status.
    public var description: String { "the service responded with status \(head.status.code)" }
}

/// An item at the service.
public struct RemoteItem: Sendable, Hashable {
    /// The ID, which never changes.
    public var id: String

    /// The JSON from the service.
    public var json: Data

    /// Returns the item, if it has this ID. A proxy may have confused the responses to two requests.
    @discardableResult
    func requireID(_ id: String) throws(AccountError) -> RemoteItem {
        guard self.id == id else {
            throw AccountError(.requestRefused, "the response contains another item than the requested one")
        }
        return self
    }

    /// Creates an item that can be decoded. If the JSON contains bytes that are not UTF-8, or half of a surrogate pair as in a
    /// text that the service has cut, the item contains U+FFFD instead. Control characters in strings become escapes.
    public init(id: String, json: Data) {
        self.init(id: id, valid: Data(JSONText.repairingStrings(of: Array(json))))
    }

    /// - Parameter json: Valid JSON, which may contain halves of surrogate pairs.
    init(id: String, valid json: Data) {
        self.id = id
        let cuts = json.withUnsafeBytes { JSONReader.loneSurrogates(in: $0) }
        guard !cuts.isEmpty else {
            self.json = json
            return
        }
        var text = [UInt8](json)
        for cut in cuts { text.replaceSubrange(cut..<cut + 6, with: #"\ufffd"#.utf8) }
        self.json = Data(text)
    }

    /// Creates an item from a decoded value, for pages with several items or for a service that wraps items. Equal
    /// values result in equal bytes, so that AccountKit does not store an unchanged item again. The item contains only
    /// the fields of the value.
    public init<Value: Encodable & Identifiable>(_ value: Value) throws where Value.ID == String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        self.init(id: value.id, json: try encoder.encode(value))
    }
}

/// The effect of an unsent change on a list.
public enum ListEffect: Sendable, Hashable {
    case none
    /// The list shows the item first, if the list does not contain it.
    case shownFirst
    /// The list does not show the item.
    case hidden
}

/// The state of a change at the service, which determines whether to send the change.
public enum ChangeStanding: Sendable, Hashable {
    case pending
    /// The service applied the change in an attempt whose response was lost. The value is the item at the service, if
    /// there is one.
    case done(RemoteItem?)
    /// Another client has changed the item. The user must decide what happens to the change.
    case conflict(String)
    /// The item no longer exists at the service. The user must decide what happens to the change, whose state becomes
    /// ``ChangeState/conflict``; see ``PendingChange/isItemGone``.
    case gone(String)
    /// It is not possible to determine whether the service has applied the change. The user must decide what happens to
    /// the change.
    case unknown
}
#endif
