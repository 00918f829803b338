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

/// A service of notes for several concurrent processes: a file with a line for each change that took effect.
final class NoteFile: Sendable {
    private let path: String
    private let random: Mutex<UInt64?>
    private static let pageSize = 20

    init(path: String, losses: UInt64?) {
        self.path = path
        random = Mutex(losses)
    }

    func create(_ text: String) throws { _ = try carryOut { "create n\($0.count + 1) \(text)" } }

    func send(_ request: HTTPRequest, _ body: Data?) throws -> (head: HTTPResponse, body: Data) {
        let isLost = roll(4)
        if roll(5) { throw Self.noResponse(.refused) }
        let response = try respond(request, body.map { String(decoding: $0, as: UTF8.self) } ?? "")
        if isLost { throw Self.noResponse(.reset) }
        return response
    }

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
        let path = (request.path ?? "").split(separator: "/").map(String.init)
        switch request.method {
        case .get where path.count == 1:
            let notes = notes(in: try lines())
            let start = Int(path[0]) ?? 0
            var head = HTTPResponse(status: .ok)
            if start + Self.pageSize < notes.count { head.headerFields[.init("Link")!] = "\(start + Self.pageSize)" }
            return (head, try JSONEncoder().encode(Array(notes.dropFirst(start).prefix(Self.pageSize))))
        case .post:
            let lines = try carryOut { "create n\($0.count + 1) \(text)" }
            return try response(notes(in: lines).first)
        case .patch, .put, .delete:
            let kind =
                switch request.method {
                case .patch: "edit"
                case .put: "star"
                default: path.count == 3 ? "unstar" : "delete"
                }
            let line = "\(kind) \(path[1]) \(text)"
            var isThere = false
            let lines = try carryOut { lines in
                isThere = notes(in: lines).contains { $0.id == path[1] }
                return isThere ? line : nil
            }
            guard isThere else { return (HTTPResponse(status: .notFound), Data()) }
            guard request.method == .patch else { return (HTTPResponse(status: .noContent), Data()) }
            return try response(notes(in: lines).first { $0.id == path[1] })
        default:
            return try response(notes(in: try lines()).first { $0.id == path[1] })
        }
    }

    private func response(_ note: Note?) throws -> (head: HTTPResponse, body: Data) {
        guard let note else { return (HTTPResponse(status: .notFound), Data()) }
        return (HTTPResponse(status: .ok), try JSONEncoder().encode(note))
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
