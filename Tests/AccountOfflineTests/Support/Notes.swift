#if Offline
import AccountKit
import Foundation
import HTTPTypes

@testable import AccountOffline

/// An app's adapter to ``NoteService``.
struct Notes: RemoteCollection {
    typealias Item = ServiceNote

    struct NotJSON: Error {}

    static var encoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return encoder
    }

    var pageSize = 3
    /// Whether item positions have a cursor, the page number. Otherwise the lists are paged by the service's own
    /// cursors, which stay valid.
    var hasNumbers = true
    /// Whether the cursors name the preceding item, which keeps them valid when items are inserted before it.
    var hasCursors = false
    /// Whether the adapter checks for changes with an unknown result.
    var looks = true
    /// Whether notes have versions.
    var hasVersions = false
    var searchDelay = Duration.zero
    /// Completes a note that the service has shortened.
    var complete: (@Sendable (inout RemoteItem, _ stored: RemoteItem?) throws -> Void)?

    func request(for list: String, at cursor: String?) -> HTTPRequest {
        get("/\(list)?page=\(cursor ?? "1")" + (hasCursors ? "&cursors" : ""))
    }
    func request(forItem id: String) -> HTTPRequest { get("/notes/\(id)") }
    func cursor(ofItemAt position: Int) -> String? { hasNumbers ? "\(position / pageSize + 1)" : nil }
    func isGone(whenMissingFrom list: String) -> Bool { list == "all" }

    func page(_ head: HTTPResponse, _ body: Data) throws -> RemotePage {
        let next = head.headerFields[.link]
        guard head.status != .notModified else { return RemotePage(items: [], next: next) }
        guard head.headerFields[.contentType] == "application/json" else { throw NotJSON() }
        return try RemotePage(elementsOf: body, next: next)
    }

    func complete(_ item: inout RemoteItem, from stored: RemoteItem?, fetching fetch: RemoteTransport) async throws {
        try complete?(&item, stored)
    }

    func version(of item: RemoteItem) -> String? {
        hasVersions ? (try? note(item.json)).map { "\($0.version)" } : nil
    }

    func item(_ head: HTTPResponse, _ body: Data) throws -> RemoteItem {
        guard head.headerFields[.contentType] == "application/json" else { throw NotJSON() }
        return RemoteItem(id: try JSONDecoder().decode(ServiceNote.self, from: body).id, json: body)
    }

    func request(for change: Change) throws -> (head: HTTPRequest, body: Data?) {
        switch change.kind {
        case .create: (head(.post, "/notes"), change.body)
        case .update: (head(.patch, "/notes/\(change.object)"), change.body)
        case .delete: (head(.delete, "/notes/\(change.object)"), nil)
        case .star: (head(.put, "/notes/\(change.object)/star"), nil)
        case .unstar: (head(.delete, "/notes/\(change.object)/star"), nil)
        default: throw NotJSON()
        }
    }

    func item(_ item: Data?, with change: Change) throws -> Data? {
        var note =
            try item.map { try JSONDecoder().decode(ServiceNote.self, from: $0) }
            ?? ServiceNote(id: change.object, text: "", version: 0)
        switch change.kind {
        case .delete: return nil
        case .star, .unstar: note.isStarred = change.kind == .star
        default: note.text = try text(change)
        }
        return try Self.encoder.encode(note)
    }

    func effect(of change: Change, on list: String) -> ListEffect {
        switch change.kind {
        case .create: list == "all" ? .shownFirst : .none
        case .delete: .hidden
        case .star: list == "starred" ? .shownFirst : .none
        case .unstar: list == "starred" ? .hidden : .none
        default: .none
        }
    }

    func joining(_ first: Change, _ second: Change) throws -> [Change] {
        switch (first.kind, second.kind) {
        case (.create, .delete): return []
        case (.create, .update), (.update, .update):
            var joined = first
            joined.body = second.body
            return [joined]
        default: return [first, second]
        }
    }

    func standing(
        of change: Change, wasSent: Bool, claimed: Set<String>, fetching fetch: RemoteTransport
    ) async throws -> ChangeStanding {
        guard looks else { return wasSent && change.kind == .create ? .unknown : .pending }
        if change.kind == .create {
            guard wasSent else { return .pending }
            var cursor: String? = "1"
            while let number = cursor {
                let (head, body) = try await fetch(request(for: "all", at: number), nil)
                guard head.status == .ok else { throw RemoteFailure(head, body) }
                let page = try page(head, body)
                for item in page.items where !claimed.contains(item.id) {
                    let note = try note(item.json)
                    if try note.text == text(change), note.isCreated(after: change.sentAfter) { return .done(item) }
                }
                cursor = page.next
            }
            return .pending
        }
        guard let item = try await item(change.object, fetching: fetch) else {
            return change.kind == .delete ? .done(nil) : .gone("another client has removed it")
        }
        let note = try note(item.json)
        switch change.kind {
        case .update:
            if wasSent, note.text == (try text(change)) { return .done(item) }
            return change.base.map { $0 == "\(note.version)" } ?? true
                ? .pending : .conflict("another client has changed it")
        case .star, .unstar: return wasSent && note.isStarred == (change.kind == .star) ? .done(nil) : .pending
        default: return .pending
        }
    }

    private func note(_ json: Data) throws -> ServiceNote { try JSONDecoder().decode(ServiceNote.self, from: json) }
    private func text(_ change: Change) throws -> String {
        try JSONDecoder().decode([String: String].self, from: change.body)["text"] ?? ""
    }
    private func get(_ path: String) -> HTTPRequest { head(.get, path) }
    private func head(_ method: HTTPRequest.Method, _ path: String) -> HTTPRequest {
        HTTPRequest(method: method, scheme: "https", authority: "notes.example.com", path: path)
    }
}

extension ServiceNote {
    fileprivate func isCreated(after date: Date?) -> Bool {
        guard let createdAt, let date else { return true }
        return createdAt >= date.timeIntervalSince1970.rounded(.down)
    }
}

extension ChangeKind {
    static let star = ChangeKind(rawValue: "star")
    static let unstar = ChangeKind(rawValue: "unstar")
}

extension Change {
    static func create(_ text: String) -> Change { Change(.create, body: body(text)) }
    static func update(_ id: String, _ text: String, base: String? = nil) -> Change {
        Change(.update, of: id, body: body(text), base: base)
    }
    private static func body(_ text: String) -> Data { Data(#"{"text":"\#(text)"}"#.utf8) }
}
#endif
