#if Offline
import AccountKit
import HTTPTypes
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A service of notes for several concurrent processes: a file with a line for each change that took effect. The clock of
/// the service counts the lines: a note with the ID `n7` was created at 7 seconds. The service sends only the beginning of
/// a long text, and the whole text at another path.
final class NoteFile: Sendable {
    private let path: String
    private let random: Mutex<UInt64?>
    /// The number of faults of each kind, for a report.
    private let counts = Mutex<[String: Int]>([:])
    private static let pageSize = 20
    private static let longestText = 1000
    private static let epoch = 1_800_000_000.0

    init(path: String, losses: UInt64?) {
        self.path = path
        random = Mutex(losses)
    }

    func create(_ text: String) throws { _ = try carryOut { "create n\($0.count + 1) \(text)" } }

    /// The faults so far, in one line.
    var faults: String {
        counts.withLock { $0.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ") }
    }

    func send(_ request: HTTPRequest, _ body: Data?) throws -> (head: HTTPResponse, body: Data) {
        if roll(6) { throw Self.noResponse(.refused) }
        if roll(10) {
            note("portal")
            return (HTTPResponse(status: .ok), Data("<html>Welcome</html>".utf8))
        }
        if roll(10) {
            note("proxy")
            return (HTTPResponse(status: .notFound), Data("no route to the service".utf8))
        }
        let text = body.map { String(decoding: $0, as: UTF8.self) } ?? ""
        if roll(12) {
            note("limited")
            return try limited()
        }
        if roll(12) {
            // The gateway may have forwarded the request.
            note("error")
            if roll(2) { _ = try respond(request, text) }
            return (HTTPResponse(status: .badGateway), Data("<html>Bad Gateway</html>".utf8))
        }
        let isLost = roll(4)
        let response = try respond(request, text)
        if roll(8), let other = try responseWithOtherNote(to: request) {
            note("other")
            return other
        }
        guard isLost else { return response }
        note(text.utf8.count > Self.longestText ? "lost-large" : "lost")
        throw Self.noResponse(.reset)
    }

    private func note(_ fault: String) { counts.withLock { $0[fault, default: 0] += 1 } }

    private static func noResponse(_ failure: AuthorityError.Failure) -> AccountError {
        AccountError(.serviceUnavailable, "no response", cause: AuthorityError.noResponse(failure))
    }

    /// Returns `true` once in `count` times on average.
    private func roll(_ count: UInt64) -> Bool {
        random.withLock { state in
            guard var value = state else { return false }
            value = value &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            state = value
            return (value >> 33) % count == 0
        }
    }

    private func respond(_ request: HTTPRequest, _ text: String) throws -> (head: HTTPResponse, body: Data) {
        let lines = try carryOut(request, text)
        var response = try response(to: request, lines)
        response.head.headerFields[.date] = Self.date(lines.count)
        return response
    }

    /// The date by the clock of the service (RFC 9110, section 5.6.7). The epoch is at 8 o'clock.
    private static func date(_ seconds: Int) -> String {
        let time = [8 + seconds / 3600, seconds / 60 % 60, seconds % 60].map { ($0 < 10 ? "0" : "") + "\($0)" }
        return "Fri, 15 Jan 2027 \(time.joined(separator: ":")) GMT"
    }

    /// A response that requests a pause of a second by the clock of the service.
    private func limited() throws -> (head: HTTPResponse, body: Data) {
        let count = try lines().count
        var head = HTTPResponse(status: .tooManyRequests)
        head.headerFields[.date] = Self.date(count)
        head.headerFields[.init("Retry-After")!] = Self.date(count + 1)
        return (head, Data("{}".utf8))
    }

    /// The response to another request, as from a gateway that confuses them. `nil` if the response contains no note.
    private func responseWithOtherNote(to request: HTTPRequest) throws -> (head: HTTPResponse, body: Data)? {
        let path = (request.path ?? "").split(separator: "/").map(String.init)
        guard path.count == 2, request.method == .get || request.method == .patch else { return nil }
        return try notes(in: lines()).first { $0.id != path[1] }.map { try response($0, .ok) }
    }

    /// Carries out a change, and returns all lines.
    private func carryOut(_ request: HTTPRequest, _ text: String) throws -> [String] {
        let path = (request.path ?? "").split(separator: "/").map(String.init)
        let kind: String
        switch request.method {
        case .get: return try lines()
        case .post: return try carryOut { "create n\($0.count + 1) \(text)" }
        case .patch: kind = "edit"
        case .put: kind = "star"
        default: kind = path.count == 3 ? "unstar" : "delete"
        }
        return try carryOut { lines in
            notes(in: lines).contains { $0.id == path[1] } ? "\(kind) \(path[1]) \(text)" : nil
        }
    }

    private func response(
        to request: HTTPRequest, _ lines: [String]
    ) throws -> (head: HTTPResponse, body: Data) {
        let path = (request.path ?? "").split(separator: "/").map(String.init)
        let notes = notes(in: lines)
        if request.method == .get, path.count == 1 {
            let start = Int(path[0]) ?? 0
            var head = HTTPResponse(status: .ok)
            if start + Self.pageSize < notes.count { head.headerFields[.init("Link")!] = "\(start + Self.pageSize)" }
            return (head, try JSONEncoder().encode(notes.dropFirst(start).prefix(Self.pageSize).map(shortened)))
        }
        if request.method == .post { return try response(notes.first, .created) }
        let note = notes.first { $0.id == path[1] }
        if request.method == .get, path.count == 3, let note {
            return (HTTPResponse(status: .ok), Data(note.text.utf8))
        }
        // A change of a missing note was not carried out. A deletion was, if it is the last line.
        let isDone = note != nil || request.method == .delete && lines.last?.hasPrefix("delete \(path[1]) ") == true
        guard isDone, request.method != .get, request.method != .patch else { return try response(note, .ok) }
        return (HTTPResponse(status: .noContent), Data())
    }

    private func response(_ note: Note?, _ status: HTTPResponse.Status) throws -> (head: HTTPResponse, body: Data) {
        guard let note else { return (HTTPResponse(status: .notFound), Data("{}".utf8)) }
        return (HTTPResponse(status: status), try JSONEncoder().encode(shortened(note)))
    }

    private func shortened(_ note: Note) -> Note {
        var note = note
        note.size = note.text.utf8.count
        note.text = String(note.text.prefix(Self.longestText))
        note.createdAt = Int(note.id.dropFirst()).map { Self.epoch + Double($0) }
        return note
    }

    /// The notes after all these lines, the newest first.
    private func notes(in lines: [String]) -> [Note] {
        var notes: [Note] = []
        for line in lines {
            let words = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
            switch words[0] {
            case "create": notes.insert(Note(id: words[1], text: words[2]), at: 0)
            case "edit":
                for index in notes.indices where notes[index].id == words[1] { notes[index].text = words[2] }
            case "star", "unstar":
                for index in notes.indices where notes[index].id == words[1] {
                    notes[index].isStarred = words[0] == "star"
                }
            default: notes.removeAll { $0.id == words[1] }
            }
        }
        return notes
    }

    private func lines() throws -> [String] {
        guard let data = FileManager.default.contents(atPath: path) else { return [] }
        return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// Appends a line under a lock, unless `line` returns `nil`.
    ///
    /// - Returns: All lines.
    private func carryOut(_ line: ([String]) -> String?) throws -> [String] {
        let descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0, flock(descriptor, LOCK_EX) == 0 else { throw Self.noResponse(.unreachable) }
        defer { close(descriptor) }
        let lines = try lines()
        guard let line = line(lines) else { return lines }
        let bytes = Array("\(line)\n".utf8)
        guard write(descriptor, bytes, bytes.count) == bytes.count else { throw Self.noResponse(.reset) }
        return lines + [line]
    }
}
#endif
