#if Offline
import AccountOffline
import HTTPTypes

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct Note: Codable, Sendable {
    var id: String
    /// The text, or its beginning if it is long.
    var text: String
    var isStarred = false
    /// The length of the whole text in bytes. `nil` for a note with a local change.
    var size: Int?
    /// When the note was created, in seconds since 1970 by the clock of the service.
    var createdAt: Double?

    /// The part of the text before the filler of a long text.
    var name: String { String(text.prefix { $0 != "|" }) }

    /// The text of a note with a name. A long text is longer than the service sends at once.
    static func text(named name: String) -> String {
        name.contains("long ") ? name + "|" + String(repeating: "x", count: 3000) : name
    }
}

/// The adapter to ``NoteFile``. The service supports no idempotency keys, so the adapter searches by the whole text for a
/// note that an earlier attempt may have created.
struct NoteRemote: RemoteCollection {
    typealias Item = Note

    struct NoSuchChange: Error {}

    func request(for list: String, at cursor: String?) -> HTTPRequest { head(.get, "/\(cursor ?? "0")") }
    func request(forItem id: String) -> HTTPRequest { head(.get, "/notes/\(id)") }

    func page(_ head: HTTPResponse, _ body: Data) throws -> RemotePage {
        let notes = try JSONDecoder().decode([Note].self, from: body)
        return RemotePage(
            items: try notes.map { RemoteItem(id: $0.id, json: try JSONEncoder().encode($0)) },
            next: head.headerFields[.init("Link")!])
    }

    func item(_ head: HTTPResponse, _ body: Data) throws -> RemoteItem {
        RemoteItem(id: try JSONDecoder().decode(Note.self, from: body).id, json: body)
    }

    func request(for change: Change) throws -> (head: HTTPRequest, body: Data?) {
        switch change.kind {
        case .create: (head(.post, "/notes"), change.body)
        case .update: (head(.patch, "/notes/\(change.object)"), change.body)
        case .delete: (head(.delete, "/notes/\(change.object)"), nil)
        case .star: (head(.put, "/notes/\(change.object)/star"), nil)
        case .unstar: (head(.delete, "/notes/\(change.object)/star"), nil)
        default: throw NoSuchChange()
        }
    }

    func item(_ item: Data?, with change: Change) throws -> Data? {
        var note =
            try item.map { try JSONDecoder().decode(Note.self, from: $0) } ?? Note(id: change.object, text: "")
        switch change.kind {
        case .delete: return nil
        case .star, .unstar: note.isStarred = change.kind == .star
        default: note.text = String(decoding: change.body, as: UTF8.self)
        }
        return try JSONEncoder().encode(note)
    }

    func effect(of change: Change, on list: String) -> ListEffect {
        switch change.kind {
        case .create: .shownFirst
        case .delete: .hidden
        default: .none
        }
    }

    func standing(
        of change: Change, wasSent: Bool, claimed: Set<String>, fetching fetch: RemoteTransport
    ) async throws -> ChangeStanding {
        guard wasSent, change.kind == .create || change.kind == .update else { return .pending }
        var cursor: String? = "0"
        while let number = cursor {
            let (head, body) = try await fetch(request(for: "all", at: number), nil)
            guard head.status == .ok, answer(head, body, to: nil) == .done else { throw RemoteFailure(head, body) }
            for note in try JSONDecoder().decode([Note].self, from: body) {
                let isCandidate =
                    change.kind == .create
                    ? !claimed.contains(note.id) && isCreated(note, after: change.sentAfter) : note.id == change.object
                guard isCandidate, try await has(note, change.body, fetch) else { continue }
                return .done(RemoteItem(id: note.id, json: try JSONEncoder().encode(note)))
            }
            cursor = head.headerFields[.init("Link")!]
        }
        return .pending
    }

    private func isCreated(_ note: Note, after date: Date?) -> Bool {
        guard let date, let createdAt = note.createdAt else { return true }
        return createdAt >= date.timeIntervalSince1970
    }

    private func has(_ note: Note, _ text: Data, _ fetch: RemoteTransport) async throws -> Bool {
        guard note.size == text.count, text.starts(with: note.text.utf8) else { return false }
        guard note.text.utf8.count < text.count else { return true }
        let (head, body) = try await fetch(self.head(.get, "/notes/\(note.id)/text"), nil)
        // A text of another length does not come from the service.
        guard head.status == .ok, body.count == text.count else { throw RemoteFailure(head, body) }
        return body == text
    }

    private func head(_ method: HTTPRequest.Method, _ path: String) -> HTTPRequest {
        HTTPRequest(method: method, scheme: "https", authority: "notes.example.com", path: path)
    }
}

extension ChangeKind {
    static let star = ChangeKind(rawValue: "star")
    static let unstar = ChangeKind(rawValue: "unstar")
}
#endif
