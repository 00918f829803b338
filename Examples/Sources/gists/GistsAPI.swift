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

    func request(forItem id: String) -> HTTPRequest { request(.get, path(of: id)) }

    /// The path of a gist. The user may have mistyped the ID.
    private func path(of id: String) -> String {
        "/gists/" + (id.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? id)
    }

    // MARK: Recognizing responses

    /// GitHub's form: the status that its documentation names for a request, with a gist or a list in JSON, or without a
    /// body. All its responses have a field such as `X-GitHub-Request-Id`, and its errors name the documentation.
    func answer(_ head: HTTPResponse, _ body: Data, to change: ChangeKind?) -> RemoteAnswer {
        let isMarked = head.headerFields.contains { $0.name.canonicalName.hasPrefix("x-github-") }
        let form = body.isEmpty ? nil : try? JSONDecoder().decode(Form.self, from: body)
        switch (change, head.status.code) {
        case (nil, 200): return form?.isGist == true || form?.isList == true ? .done : .foreign
        case (.create?, 201), (.update?, 200): return form?.isGist == true ? .done : .foreign
        case (.create?, 204), (.update?, 204): return .foreign
        case (.some, 204): return body.isEmpty && isMarked ? .done : .foreign
        case (_, 400...499):
            guard let form, !form.isList, isMarked || form.namesDocumentation else { return .foreign }
            // GitHub also responds with 404 if the token lacks a scope, and then names the scope.
            return RemoteAnswer(json: head, body, to: change)
        default: return .foreign
        }
    }

    /// The members that GitHub's responses have, whatever the others contain. One text that cannot be read must not hide a
    /// whole list.
    private struct Form: Decodable {
        var isList = false
        var isGist = false
        var namesDocumentation = false

        private enum CodingKeys: String, CodingKey {
            case id
            case files
            case documentation = "documentation_url"
        }

        init(from decoder: any Decoder) throws {
            if let members = try? decoder.container(keyedBy: CodingKeys.self) {
                isGist =
                    (try? members.decode(String.self, forKey: .id)) != nil
                    && (try? members.nestedContainer(keyedBy: CodingKeys.self, forKey: .files)) != nil
                namesDocumentation = (try? members.decode(String.self, forKey: .documentation)) != nil
            } else {
                _ = try decoder.unkeyedContainer()
                isList = true
            }
        }
    }

    func item(_ head: HTTPResponse, _ body: Data) throws -> RemoteItem {
        let item = RemoteItem(id: "", json: body)
        return RemoteItem(id: try JSONDecoder().decode(Gist.self, from: item.json).id, json: item.json)
    }

    /// GitHub sends only the beginning of a long file, and the whole file at `raw_url`, up to 10 MB: "Truncation" in
    /// https://docs.github.com/en/rest/gists/gists
    func completing(_ item: RemoteItem, fetching fetch: RemoteTransport) async throws -> RemoteItem {
        guard var gist = try JSONSerialization.jsonObject(with: item.json) as? [String: Any],
            var files = gist["files"] as? [String: Any]
        else { return item }
        var isChanged = false
        for (name, file) in try JSONDecoder().decode(Gist.self, from: item.json).files where file.truncated == true {
            guard var changed = files[name] as? [String: Any] else { continue }
            changed["content"] = try await text(of: file, fetch)
            changed["truncated"] = false
            files[name] = changed
            isChanged = true
        }
        guard isChanged else { return item }
        gist["files"] = files
        return RemoteItem(id: item.id, json: try JSONSerialization.data(withJSONObject: gist, options: .sortedKeys))
    }

    /// Requests the whole text of a file. If the text is not available, only this gist is affected, even if the host of
    /// the texts is unreachable.
    private func text(of file: Gist.File, _ fetch: RemoteTransport) async throws -> String {
        func failure(_ reason: String) -> AccountError {
            AccountError(.serviceUnavailable, "the whole text of \(file.filename) is not available: \(reason)")
        }
        guard let link = file.rawURL.flatMap({ URLComponents(string: $0) }), let host = link.authority else {
            throw failure("the service does not say where it is")
        }
        let request = HTTPRequest(
            method: .get, scheme: link.scheme, authority: host,
            path: link.percentEncodedPath + (link.percentEncodedQuery.map { "?" + $0 } ?? ""),
            headerFields: [.accept: "*/*", .userAgent: "gists"])
        let (head, body): (HTTPResponse, Data)
        do {
            (head, body) = try await fetch(request, nil)
        } catch let error as AccountError where error.code == .serviceUnavailable {
            throw failure(error.message)
        }
        guard head.status == .ok else { throw failure("status \(head.status.code)") }
        // A portal's page has another size.
        if let size = file.size, size != body.count { throw failure("it has \(body.count) bytes instead of \(size)") }
        // Foundation's initializer would drop a byte order mark.
        guard let text = String(validating: body, as: UTF8.self) else { throw failure("it is not UTF-8 text") }
        return text
    }

    // An item that is not a gist has no version, and was rejected before.
    func version(of item: RemoteItem) -> String? {
        let gist = try? JSONDecoder().decode(Gist.self, from: item.json)
        return gist.flatMap { $0.updatedAt.isEmpty ? nil : $0.updatedAt }
    }

    // MARK: Changing

    func request(for change: Change) throws -> (head: HTTPRequest, body: Data?) {
        let path = path(of: change.object)
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
            var gist = Gist(of: change, edit)
            gist.apply(edit)
            return try JSONEncoder().encode(gist)
        case .update:
            let edit = try JSONDecoder().decode(GistEdit.self, from: change.body)
            // If the gist was deleted at the service, show what the user has written.
            var gist = try item.map { try JSONDecoder().decode(Gist.self, from: $0) } ?? Gist(of: change, edit)
            gist.apply(edit)
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
        case .create where change.sentAfter == nil:
            // Learn the time of the service, which bounds the search for the gist if the response is lost.
            let (head, body) = try await fetch(request(.get, "/gists?per_page=1"), nil)
            if answer(head, body, to: nil) == .foreign { throw RemoteFailure(head, body) }
            return .pending
        case .update, .delete:
            guard change.base != nil || wasSent else { return .pending }
            guard let item = try await item(change.object, fetching: fetch) else {
                return change.kind == .delete ? .done(nil) : .gone("it was deleted at the service")
            }
            let gist = try JSONDecoder().decode(Gist.self, from: item.json)
            if change.kind == .update,
                try await has(gist, try JSONDecoder().decode(GistEdit.self, from: change.body), isNew: false, fetch)
            {
                return .done(item)
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
        // Without a time of the service, search all gists, since the clock of this machine may be wrong. The servers of
        // a service differ by a few seconds.
        let since = change.sentAfter?.addingTimeInterval(-5)
        var cursor: String? = "per_page=100&page=1" + (since.map { "&since=\($0.formatted(.iso8601))" } ?? "")
        while let query = cursor {
            let (head, body) = try await fetch(request(.get, "/gists?" + query), nil)
            guard head.status == .ok, answer(head, body, to: nil) == .done else { throw RemoteFailure(head, body) }
            let page = try page(head, body)
            for found in page.items where !claimed.contains(found.id) {
                // A gist that cannot be read must not hide the others.
                guard let gist = try? JSONDecoder().decode(Gist.self, from: found.json), gist.mayHave(edit),
                    gist.isPublic == edit.isPublic ?? false,
                    since.map({ gist.isCreated(after: $0) }) ?? true,
                    let whole = try await item(found.id, fetching: fetch),
                    try await has(try JSONDecoder().decode(Gist.self, from: whole.json), edit, isNew: true, fetch)
                else { continue }
                return .done(whole)
            }
            // A service that repeats a page would never end the list.
            cursor = page.items.isEmpty || page.next == query ? nil : page.next
        }
        return .pending
    }

    /// Whether a gist has the files and the description of an edit. The API sends only the beginning of a long text, so
    /// this method requests the whole text, and only the first files of a gist, which suffice for a new gist.
    private func has(
        _ gist: Gist, _ edit: GistEdit, isNew: Bool, _ fetch: RemoteTransport
    ) async throws -> Bool {
        guard gist.hasDescription(of: edit) else { return false }
        for (name, wanted) in edit.files {
            guard let file = gist.files[name] else {
                if isNew, gist.truncated == true { continue }
                return false
            }
            var content = file.content
            if file.truncated == true || content == nil {
                guard file.size ?? wanted.content.utf8.count == wanted.content.utf8.count,
                    wanted.content.utf8.starts(with: (content ?? "").utf8)
                else { return false }
                content = try await text(of: file, fetch)
            }
            // Compare bytes: equal strings may differ in their normal form.
            guard content?.utf8.elementsEqual(wanted.content.utf8) == true else { return false }
        }
        return true
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

extension Gist {
    /// The gist without files that a change creates.
    fileprivate init(of change: Change, _ edit: GistEdit) {
        let date = change.madeAt.formatted(.iso8601)
        self.init(
            id: change.object, description: nil, isPublic: edit.isPublic ?? false, files: [:], createdAt: date,
            updatedAt: date)
    }
}

extension URLComponents {
    fileprivate var authority: String? { host.map { $0 + (port.map { ":\($0)" } ?? "") } }
}
