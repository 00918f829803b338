#if Offline
import AccountKit
import Foundation
import HTTPTypes
import Testing

/// A note in the service's format.
struct ServiceNote: Codable, Sendable, Hashable {
    var id: String
    var text: String
    var version: Int
    var isStarred = false
    /// When the note was created, in seconds since 1970 by the clock of the service.
    var createdAt: Double?
}

/// A small, correct service of notes in memory. Its lists begin with the newest note and have numbered pages with
/// entity tags. It counts the changes that it makes, and fails on request.
actor NoteService {
    enum Fault: Sendable, Hashable {
        /// The request does not arrive.
        case refused
        /// The request takes effect, but its response is lost.
        case lost
        /// Like `lost`, but a creation takes effect only when the test calls ``NoteService/carryOutLateRequests()``.
        case late
        /// The request takes effect, but the response has this status.
        case applied(Int)
        /// A response in the form of the service, unless the body has another form.
        case status(Int, [String: String] = [:], body: String = "{}")
        /// A captive portal's page, with status 200.
        case portal
        /// A proxy's own 404, as a text.
        case proxy
        /// The client does not accept the length of the response.
        case tooLong
        /// The client cannot send the request.
        case malformed
    }

    let pageSize: Int
    private(set) var notes: [ServiceNote] = []
    /// How often each change was made, by method, path and text.
    private(set) var applied: [String: Int] = [:]
    private(set) var requests: [HTTPRequest] = []
    private(set) var statuses: [Int] = []
    private var faults: [Fault] = []
    private var fault: (@Sendable (HTTPRequest) -> Fault?)?
    private var beforeResponse: (@Sendable (HTTPRequest) async throws -> Void)?
    private var lateRequests: [(head: HTTPRequest, body: Data?)] = []
    private var lastNumber = 0
    private var tagSalt = ""
    private var linkQuery = ""
    private var linklessCount = 0
    private var linksBeyondEnd = false
    /// The time of the service, or `nil` if the service sends no `Date`.
    private var time: Date?

    init(pageSize: Int = 3) { self.pageSize = pageSize }

    // MARK: Actions of the test

    func fail(_ faults: Fault...) { self.faults += faults }
    func fail(when fault: (@Sendable (HTTPRequest) -> Fault?)?) { self.fault = fault }
    func beforeResponse(_ body: (@Sendable (HTTPRequest) async throws -> Void)?) { beforeResponse = body }
    func setTime(_ time: Date) { self.time = time }
    func carryOutLateRequests() throws {
        for request in lateRequests { _ = try respond(request.head, request.body) }
        lateRequests = []
    }
    func changeEntityTags() { tagSalt += "x" }
    func changeLinks() { linkQuery += "&x" }
    /// Omits the link to the next page from responses with a list.
    func omitLinks(inNext count: Int) { linklessCount = count }
    /// Links from each page to the next, even if there is none.
    func linkBeyondEnd() { linksBeyondEnd = true }
    func forgetRequests() { (requests, statuses) = ([], []) }

    @discardableResult
    func create(_ text: String, id: String? = nil) -> String {
        lastNumber += 1
        let note = ServiceNote(
            id: id ?? "n\(lastNumber)", text: text, version: lastNumber, createdAt: time?.timeIntervalSince1970)
        notes.insert(note, at: 0)
        return notes[0].id
    }

    func edit(_ id: String, _ text: String) {
        guard let index = notes.firstIndex(where: { $0.id == id }) else { return }
        var note = notes.remove(at: index)
        lastNumber += 1
        (note.text, note.version) = (text, lastNumber)
        notes.insert(note, at: 0)
    }

    func delete(_ id: String) { notes.removeAll { $0.id == id } }
    func deleteAll() { notes = [] }
    func star(_ id: String) {
        for index in notes.indices where notes[index].id == id { notes[index].isStarred = true }
    }

    var count: Int { notes.count }
    func ids(_ list: String = "all") -> [String] { notes(list).map(\.id) }
    private func notes(_ list: String) -> [ServiceNote] { list == "starred" ? notes.filter(\.isStarred) : notes }

    // MARK: The service

    func send(_ request: HTTPRequest, _ body: Data?) async throws -> (head: HTTPResponse, body: Data) {
        requests.append(request)
        let fault = faults.isEmpty ? fault?(request) : faults.removeFirst()
        switch fault {
        case .refused: throw Self.error(.refused)
        case .late where request.method == .post:
            lateRequests.append((request, body))
            throw Self.error(.reset)
        case .lost, .late:
            _ = try respond(request, body)
            throw Self.error(.reset)
        case .applied(let code):
            _ = try respond(request, body)
            return try response(code, nil)
        case .status(let code, let fields, let body):
            var head = HTTPResponse(status: .init(code: code), headerFields: [.contentType: "application/json"])
            for (name, value) in fields { head.headerFields[.init(name)!] = value }
            return (head, Data(body.utf8))
        case .portal:
            return (
                HTTPResponse(status: .ok, headerFields: [.contentType: "text/html"]), Data("<html>Welcome</html>".utf8)
            )
        case .proxy:
            return (HTTPResponse(status: .notFound, headerFields: [.contentType: "text/plain"]), Data("no route".utf8))
        case .tooLong: throw AccountError(.requestRefused, "the response is longer than 16777216 bytes")
        case .malformed: throw AccountError(.invalidArgument, "the URL of the request is not a URL")
        case nil: break
        }
        var response = try respond(request, body)
        // RFC 9110, section 5.6.7
        response.head.headerFields[.date] = time.map { $0.formatted(Self.dateStyle) }
        statuses.append(response.head.status.code)
        try await beforeResponse?(request)
        return response
    }

    private static let dateStyle = Date.VerbatimFormatStyle(
        format: """
            \(weekday: .abbreviated), \(day: .twoDigits) \(month: .abbreviated) \(year: .padded(4)) \
            \(hour: .twoDigits(clock: .twentyFourHour, hourCycle: .zeroBased)):\(minute: .twoDigits):\(second: .twoDigits) GMT
            """, locale: Locale(identifier: "en_US_POSIX"), timeZone: .gmt, calendar: Calendar(identifier: .gregorian))

    static func error(_ failure: AuthorityError.Failure) -> AccountError {
        AccountError(.serviceUnavailable, "no response", cause: AuthorityError.noResponse(failure))
    }

    private func respond(_ request: HTTPRequest, _ body: Data?) throws -> (head: HTTPResponse, body: Data) {
        let target = (request.path ?? "").split(separator: "?", maxSplits: 1).map(String.init)
        let path = target[0].split(separator: "/").map(String.init)
        if request.method == .get, ["all", "starred"].contains(path[0]) {
            let page = target[1].split(separator: "&")[0].split(separator: "=")[1]
            return try self.page(path[0], String(page), request)
        }
        let text = try body.map { try JSONDecoder().decode([String: String].self, from: $0)["text"] ?? "" } ?? ""
        if request.method == .post {
            count("POST \(text)")
            return try response(201, note(create(text)))
        }
        let id = path[1]
        guard let index = notes.firstIndex(where: { $0.id == id }) else { return try response(404, nil) }
        switch (request.method, path.count) {
        case (.get, _): return try response(200, notes[index])
        case (.patch, _):
            count("PATCH \(id) \(text)")
            edit(id, text)
            return try response(200, note(id))
        case (.delete, 2):
            count("DELETE \(id)")
            delete(id)
            return try response(204, nil)
        case (.put, 3), (.delete, 3):
            count("\(request.method) \(id) star")
            notes[index].isStarred = request.method == .put
            return try response(204, nil)
        default: return try response(400, nil)
        }
    }

    private func note(_ id: String) -> ServiceNote? { notes.first { $0.id == id } }
    private func count(_ what: String) { applied[what, default: 0] += 1 }

    /// - Parameter page: Its number, or `after-` and the preceding id.
    private func page(_ list: String, _ page: String, _ request: HTTPRequest) throws -> (HTTPResponse, Data) {
        let all = notes(list)
        let before = all.firstIndex { "after-" + $0.id == page }
        let start = try before.map { $0 + 1 } ?? (#require(Int(page)) - 1) * pageSize
        let rows = all.dropFirst(start).prefix(pageSize)
        let body = try Notes.encoder.encode(Array(rows))
        var head = HTTPResponse(status: .ok, headerFields: [.contentType: "application/json"])
        // FNV-1a: as short as the tags of real services.
        let hash = body.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        let tag = "\"\(String(hash, radix: 16))\(tagSalt)\""
        head.headerFields[.eTag] = tag
        if linklessCount > 0 {
            linklessCount -= 1
        } else if linksBeyondEnd {
            head.headerFields[.link] = "\(start / pageSize + 2)"
        } else if start + pageSize < all.count, let last = rows.last {
            let hasNumbers = request.path?.hasSuffix("&cursors") != true
            head.headerFields[.link] = hasNumbers ? "\(start / pageSize + 2)\(linkQuery)" : "after-" + last.id
        }
        guard request.headerFields[.ifNoneMatch] != tag else {
            head.status = .notModified
            return (head, Data())
        }
        return (head, body)
    }

    private func response(_ code: Int, _ note: ServiceNote?) throws -> (HTTPResponse, Data) {
        (
            HTTPResponse(status: .init(code: code), headerFields: [.contentType: "application/json"]),
            try note.map { try Notes.encoder.encode($0) } ?? Data((code == 204 ? "" : "{}").utf8)
        )
    }
}

extension HTTPField.Name {
    static let link = Self("Link")!
}
#endif
