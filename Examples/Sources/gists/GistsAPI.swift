import AccountKit
import AccountOffline
import Foundation
import HTTPTypes

extension ChangeKind {
    static let star = ChangeKind(rawValue: "star")
    static let unstar = ChangeKind(rawValue: "unstar")
}

/// GitHub's API for gists. It supports neither conditional changes nor idempotency keys, so a change first checks the
/// gist's state.
struct GistsAPI: RemoteCollection {
    typealias Item = Gist

    /// GitHub asks clients to wait a second between changes ("Best practices for using the REST API").
    let pause: Duration

    // MARK: Reading

    func request(for list: String, at cursor: String?) -> HTTPRequest {
        let path = list == "mine" ? "/gists" : "/gists/" + list
        return request(.get, path + "?" + (cursor ?? "per_page=30&page=1"))
    }

    func page(_ head: HTTPResponse, _ body: Data) throws -> RemotePage {
        let next = RemotePage.nextQuery(in: head)
        return head.status == .notModified
            ? RemotePage(items: [], next: next) : try RemotePage(elementsOf: body, next: next)
    }

    func cursor(ofItemAt position: Int) -> String? {
        // Pages may have up to 100 items. Among the sizes at which no page ends with this item, choose the one that
        // returns the most further items.
        let known = position + 1
        var (size, gain) = (100, 0)
        for candidate in 51...100 where known % candidate != 0 && candidate - known % candidate > gain {
            (size, gain) = (candidate, candidate - known % candidate)
        }
        return "per_page=\(size)&page=\(known / size + 1)"
    }

    /// A gist that is missing from `mine` was deleted. A gist that is missing from `starred` may still exist.
    func isGone(whenMissingFrom list: String) -> Bool { list == "mine" }

    func request(forItem id: String) -> HTTPRequest { request(.get, "/gists/" + id) }

    func item(_ head: HTTPResponse, _ body: Data) throws -> RemoteItem {
        RemoteItem(id: try JSONDecoder().decode(Gist.self, from: body).id, json: body)
    }

    /// GitHub sends only the beginning of a long file, and the whole file at `raw_url`, up to 10 MB: "Truncation" in
    /// https://docs.github.com/en/rest/gists/gists
    func completing(_ item: RemoteItem, fetching fetch: RemoteTransport) async throws -> RemoteItem {
        guard var gist = try JSONSerialization.jsonObject(with: item.json) as? [String: Any],
            var files = gist["files"] as? [String: Any]
        else { return item }
        var isChanged = false
        for (name, value) in files {
            guard var file = value as? [String: Any], file["truncated"] as? Bool == true else { continue }
            file["content"] = try await text(of: file, named: name, fetch)
            file["truncated"] = false
            files[name] = file
            isChanged = true
        }
        guard isChanged else { return item }
        gist["files"] = files
        return RemoteItem(id: item.id, json: try JSONSerialization.data(withJSONObject: gist, options: .sortedKeys))
    }

    private func text(of file: [String: Any], named name: String, _ fetch: RemoteTransport) async throws -> String {
        func failure(_ reason: String) -> AccountError {
            AccountError(.serviceUnavailable, "the whole text of \(name) is not available: \(reason)")
        }
        guard let link = (file["raw_url"] as? String).flatMap({ URLComponents(string: $0) }),
            let host = link.percentEncodedHost
        else { throw failure("the service does not say where it is") }
        let request = HTTPRequest(
            method: .get, scheme: link.scheme, authority: host + (link.port.map { ":\($0)" } ?? ""),
            path: link.percentEncodedPath + (link.percentEncodedQuery.map { "?" + $0 } ?? ""),
            headerFields: [.accept: "*/*", .userAgent: "gists"])
        let (head, body) = try await fetch(request, nil)
        guard head.status == .ok else { throw failure("status \(head.status.code)") }
        // A portal's page has another size.
        if let size = file["size"] as? Int, size != body.count {
            throw failure("it has \(body.count) bytes instead of \(size)")
        }
        guard let text = String(data: body, encoding: .utf8) else { throw failure("it is not UTF-8 text") }
        return text
    }

    // An item that is not a gist has no version, and was rejected before.
    func version(of item: RemoteItem) -> String? { try? JSONDecoder().decode(Gist.self, from: item.json).updatedAt }

    // MARK: Changing

    func request(for change: Change) throws -> (head: HTTPRequest, body: Data?) {
        let path = "/gists/" + change.object
        return switch change.kind {
        case .create: (request(.post, "/gists"), change.body)
        case .update: (request(.patch, path), change.body)
        case .delete: (request(.delete, path), nil)
        case .star: (request(.put, path + "/star"), nil)
        default: (request(.delete, path + "/star"), nil)
        }
    }

    func item(_ item: Data?, with change: Change) throws -> Data? {
        switch change.kind {
        case .create:
            let edit = try JSONDecoder().decode(GistEdit.self, from: change.body)
            let date = change.madeAt.formatted(.iso8601)
            var gist = Gist(
                id: change.object, description: nil, isPublic: edit.isPublic ?? false, files: [:], createdAt: date,
                updatedAt: date)
            gist.apply(edit)
            return try JSONEncoder().encode(gist)
        case .update:
            guard let item else { return nil }
            var gist = try JSONDecoder().decode(Gist.self, from: item)
            gist.apply(try JSONDecoder().decode(GistEdit.self, from: change.body))
            return try JSONEncoder().encode(gist)
        case .delete: return nil
        default: return item
        }
    }

    func effect(of change: Change, on list: String) -> ListEffect {
        switch (change.kind, list) {
        case (.create, "mine"), (.star, "starred"): .shownFirst
        case (.delete, _), (.unstar, "starred"): .hidden
        default: .none
        }
    }

    func joining(_ first: Change, _ second: Change) throws -> CoalescedChanges {
        switch (first.kind, second.kind) {
        case (.create, .delete): return .nothing
        case (.create, .update), (.update, .update):
            let edits = try [first, second].map { try JSONDecoder().decode(GistEdit.self, from: $0.body) }
            return .one(first.kind, try JSONEncoder().encode(edits[0].followed(by: edits[1])))
        case (.update, .delete), (.star, .delete), (.unstar, .delete): return .one(.delete, Data())
        case (.star, .unstar), (.unstar, .star), (.star, .star), (.unstar, .unstar): return .one(second.kind, Data())
        default: return .both
        }
    }

    // MARK: Checking first

    func standing(
        of change: Change, wasSent: Bool, claimed: Set<String>, fetching fetch: RemoteTransport
    ) async throws -> ChangeStanding {
        switch change.kind {
        case .create where wasSent: return try await madeBefore(change, claimed, fetch)
        case .update, .delete:
            guard change.base != nil || wasSent else { return .pending }
            let (head, body) = try await fetch(request(forItem: change.object), nil)
            if head.status == .notFound {
                return change.kind == .delete ? .done(nil) : .conflict("it was deleted at the service")
            }
            guard head.status == .ok else { throw RemoteFailure(head, body) }
            let gist = try JSONDecoder().decode(Gist.self, from: body)
            if change.kind == .update, gist.has(try JSONDecoder().decode(GistEdit.self, from: change.body)) {
                return .done(try item(head, body))
            }
            let isAsItWas = change.base == nil || gist.updatedAt == change.base
            return isAsItWas ? .pending : .conflict("it was changed at the service on \(gist.updatedAt)")
        default: return .pending
        }
    }

    /// Whether a previous attempt created the gist, but the response did not arrive. In that case, there is a gist with
    /// the same content that no other change has created.
    private func madeBefore(
        _ change: Change, _ claimed: Set<String>, _ fetch: RemoteTransport
    ) async throws -> ChangeStanding {
        let edit = try JSONDecoder().decode(GistEdit.self, from: change.body)
        // Search from a day earlier, since the clocks of the two machines may differ.
        let since = (change.sentAt ?? change.madeAt).addingTimeInterval(-86_400).formatted(.iso8601)
        var cursor: String? = "per_page=100&since=\(since)&page=1"
        while let query = cursor {
            let (head, body) = try await fetch(request(.get, "/gists?" + query), nil)
            guard head.status == .ok else { throw RemoteFailure(head, body) }
            let page = try page(head, body)
            for found in page.items where !claimed.contains(found.id) {
                let gist = try JSONDecoder().decode(Gist.self, from: found.json)
                guard Set(gist.files.keys) == Set(edit.files.keys), gist.description ?? "" == edit.description ?? "",
                    gist.createdAt >= since
                else { continue }
                let (head, body) = try await fetch(request(forItem: found.id), nil)
                guard head.status == .ok else { throw RemoteFailure(head, body) }
                if try JSONDecoder().decode(Gist.self, from: body).has(edit) { return .done(try item(head, body)) }
            }
            cursor = page.next
        }
        return .pending
    }

    private func request(_ method: HTTPRequest.Method, _ path: String) -> HTTPRequest {
        HTTPRequest(
            method: method, scheme: nil, authority: nil, path: path,
            headerFields: [
                .accept: "application/vnd.github+json", .userAgent: "gists", .contentType: "application/json",
                HTTPField.Name("X-GitHub-Api-Version")!: "2022-11-28",
            ])
    }
}
