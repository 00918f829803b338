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

    /// The address of the API, which links may be relative to.
    var address: APIAddress?

    // MARK: Reading

    func request(for list: String, at cursor: String?) -> HTTPRequest {
        if let cursor, cursor.hasPrefix("/") { return linked(cursor) }
        let path = list == "mine" ? "/gists" : "/gists/" + list
        return request(.get, path + "?" + (cursor ?? Self.firstPage))
    }

    func page(_ head: HTTPResponse, _ body: Data) throws -> RemotePage {
        // GitHub's pages differ in the query. If a link has none, its path is the cursor.
        let next = RemotePage.nextQuery(in: head) ?? RemotePage.nextLink(in: head).flatMap(path(ofLink:))
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

    /// GitHub omits the `Link` field if a list has one page, and a proxy may remove the field from each page. If the page is
    /// full, request the next one.
    func cursor(after cursor: String?, itemCount: Int, _ head: HTTPResponse) -> String? {
        guard head.headerFields[.link] ?? "" == "" else { return nil }
        var items = (cursor ?? Self.firstPage).split(separator: "&").map(String.init)
        func number(_ name: String) -> Int? {
            items.first { $0.hasPrefix(name + "=") }.flatMap { Int($0.dropFirst(name.count + 1)) }
        }
        guard let size = number("per_page"), size > 0, itemCount >= size, let page = number("page"), page < .max else {
            return nil
        }
        items = items.map { $0.hasPrefix("page=") ? "page=\(page + 1)" : $0 }
        return items.joined(separator: "&")
    }

    private static let firstPage = "per_page=30&page=1"

    /// A gist that is missing from `mine` was deleted. A gist that is missing from `starred` may still exist.
    func isGone(whenMissingFrom list: String) -> Bool { list == "mine" }

    func request(forItem id: String) -> HTTPRequest { request(.get, path(of: id)) }

    /// The path of a link in a response. Requests stay at the API, even if a proxy has changed the host of the link.
    private func path(ofLink link: String) -> String? {
        let path = url(of: link, in: "/gists")?.percentEncodedPath ?? ""
        return path.hasPrefix("/") ? path : nil
    }

    /// The request for a path that contains the path of the API.
    private func linked(_ path: String) -> HTTPRequest {
        var linked = request(.get, path)
        let origin = address.flatMap { URLComponents(string: $0.origin) }
        (linked.scheme, linked.authority) = (origin?.scheme, origin?.authority)
        return linked
    }

    /// The URL of a link, which may be relative to the URL of the request for `path`.
    private func url(of link: String, in path: String) -> URLComponents? {
        let base = address.flatMap { URL(string: $0.origin + $0.path + path) }
        return URL(string: link, relativeTo: base).flatMap { URLComponents(url: $0, resolvingAgainstBaseURL: true) }
    }

    /// The path of a gist. The user may have mistyped the ID.
    private func path(of id: String) -> String {
        "/gists/" + (id.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? id)
    }

    // MARK: Recognizing responses

    /// GitHub's form: the status that its documentation names for a request, with a gist or a list in JSON, or without a
    /// body. All its responses have a field such as `X-GitHub-Request-Id`, and its errors name the documentation.
    func answer(_ head: HTTPResponse, _ body: Data, to change: ChangeKind?) -> RemoteAnswer {
        let isMarked = head.headerFields.contains { $0.name.canonicalName.hasPrefix("x-github-") }
        let form = body.isEmpty ? nil : Form(body)
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
            case isPublic = "public"
            case documentation = "documentation_url"
        }

        /// Recognizes JSON, even if decoders reject a string of it, or the depth of a gist in a list. `nil` for other text.
        init?(_ body: Data) {
            if let form = try? JSONDecoder().decode(Self.self, from: RemoteItem(id: "", json: body).json) {
                self = form
            } else if (try? RemotePage(elementsOf: body, next: nil)) != nil {
                isList = true
            } else {
                return nil
            }
        }

        init(from decoder: any Decoder) throws {
            if let members = try? decoder.container(keyedBy: CodingKeys.self) {
                let hasFiles = (try? members.nestedContainer(keyedBy: CodingKeys.self, forKey: .files)) != nil
                // A gist without files.
                let isPublic = members.readable(Bool.self, forKey: .isPublic)
                isGist = (try? members.identifier(forKey: .id)) != nil && (hasFiles || isPublic != nil)
                namesDocumentation = members.readable(String.self, forKey: .documentation) != nil
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
    func complete(_ item: inout RemoteItem, from stored: RemoteItem?, fetching fetch: RemoteTransport) async throws {
        let received = try JSONDecoder().decode(Gist.self, from: item.json)
        var gist = received
        // A stored item that cannot be read has no texts.
        let earlier = stored.flatMap { try? JSONDecoder().decode(Gist.self, from: $0.json) }
        var problem: (any Error)?
        var silenceCount = 0
        for (name, file) in received.files.sorted(by: { $0.key < $1.key }) where !file.isWhole {
            if let text = earlier?.text(of: file, name, in: received) {
                gist.files[name]?.complete(text)
                continue
            }
            // If the host of the texts does not respond three times in a row, requests for 300 files would take too long.
            guard silenceCount < 3 else { continue }
            do {
                let url = try place(of: file, in: received)
                silenceCount += 1
                let response = try await response(of: file, at: url, fetch)
                silenceCount = 0
                gist.files[name]?.complete(try text(of: file, in: response))
            } catch let error as AccountError where error.code == .serviceUnavailable {
                problem = problem ?? error
            } catch {
                // The user is no longer signed in, or has cancelled the command.
                problem = error
                break
            }
        }
        if gist.files != received.files {
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            item = RemoteItem(id: item.id, json: try encoder.encode(gist))
        }
        if let problem { throw problem }
    }

    /// Requests the whole text of a file.
    private func text(of file: Gist.File, in gist: Gist, _ fetch: RemoteTransport) async throws -> String {
        try text(of: file, in: try await response(of: file, at: try place(of: file, in: gist), fetch))
    }

    private func place(of file: Gist.File, in gist: Gist) throws -> URLComponents {
        guard let link = file.rawURL, let url = url(of: link, in: path(of: gist.id)) else {
            throw file.failure("the service does not say where it is")
        }
        return url
    }

    /// Requests a text. If it is not available, only this file is affected, even if the host of the texts is unreachable.
    private func response(
        of file: Gist.File, at url: URLComponents, _ fetch: RemoteTransport
    ) async throws -> (HTTPResponse, Data) {
        do {
            return try await response(at: url, fetch)
        } catch let error as AccountError
            where [.serviceUnavailable, .requestRefused, .invalidArgument].contains(error.code)
        {
            throw file.failure(error.message)
        }
    }

    /// Checks that a response is the text of a file, and not that of another server.
    private func text(of file: Gist.File, in response: (head: HTTPResponse, body: Data)) throws -> String {
        let body = response.body
        guard response.head.status == .ok else { throw file.failure("status \(response.head.status.code)") }
        if let size = file.size, size != body.count {
            throw file.failure("it has \(body.count) bytes instead of \(size)")
        }
        // Foundation's initializer would drop a byte order mark.
        guard let text = String(validating: body, as: UTF8.self) else { throw file.failure("it is not UTF-8 text") }
        switch file.mayBe(text) {
        case true?: return text
        case false?: throw file.failure("it does not begin like the file; a captive portal?")
        case nil: throw file.failure("the service sends neither its size nor its beginning, so it cannot be checked")
        }
    }

    /// Requests a URL, and follows at most five redirects. The client checks each address like the first one, and sends the
    /// token only to the API.
    private func response(at url: URLComponents, _ fetch: RemoteTransport) async throws -> (HTTPResponse, Data) {
        var url = url
        for _ in 0...5 {
            guard let authority = url.authority, url.user == nil, url.password == nil else {
                throw AccountError(.invalidArgument, "its address is not valid")
            }
            let request = HTTPRequest(
                method: .get, scheme: url.scheme, authority: authority,
                path: url.percentEncodedPath + (url.percentEncodedQuery.map { "?" + $0 } ?? ""),
                headerFields: [.accept: "*/*", .userAgent: "gists"])
            let (head, body) = try await fetch(request, nil)
            guard [301, 302, 303, 307, 308].contains(head.status.code) else { return (head, body) }
            guard
                let target = head.headerFields[.location].flatMap({ URL(string: $0, relativeTo: url.url) }),
                let next = URLComponents(url: target, resolvingAgainstBaseURL: true)
            else {
                throw AccountError(.requestRefused, "the redirect of its address leads nowhere")
            }
            url = next
        }
        throw AccountError(.requestRefused, "its address redirects more than five times")
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

    func joining(_ first: Change, _ second: Change) throws -> [Change] {
        switch (first.kind, second.kind) {
        case (.create, .delete): return []
        case (.create, .update), (.update, .update):
            let edits = try [first, second].map { try JSONDecoder().decode(GistEdit.self, from: $0.body) }
            var joined = first
            joined.body = try JSONEncoder().encode(edits[0].followed(by: edits[1]))
            return [joined]
        case (.update, .delete), (.star, .delete), (.unstar, .delete): return [second]
        case (.star, .unstar), (.unstar, .star), (.star, .star), (.unstar, .unstar): return [second]
        default: return [first, second]
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
        var seen: Set<String> = []
        var idleCount = 0
        while let query = cursor {
            let (head, body) = try await fetch(request(for: "mine", at: query), nil)
            guard head.status == .ok, answer(head, body, to: nil) == .done else { throw RemoteFailure(head, body) }
            let page = try page(head, body)
            let next = page.next ?? self.cursor(after: query, itemCount: page.items.count + page.unreadableCount, head)
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
            // A service may send empty pages between others, and the list may end with links to empty pages. If the service
            // repeats pages with gists, it is not known whether one of the others is the gist.
            let count = seen.count
            seen.formUnion(page.items.map(\.id))
            idleCount = seen.count > count ? 0 : idleCount + 1
            guard page.items.isEmpty || idleCount < 20 else {
                throw AccountError(.requestRefused, "the service sends page after page without new gists")
            }
            cursor = page.items.isEmpty && idleCount > 3 || next == query ? nil : next
        }
        return .pending
    }

    /// Whether a gist has the files and the description of an edit. The API sends only the beginning of a long text, so
    /// this method requests the whole text, and only the first files of a gist, which suffice for a new gist.
    private func has(
        _ gist: Gist, _ edit: GistEdit, isNew: Bool, _ fetch: RemoteTransport
    ) async throws -> Bool {
        guard gist.hasDescription(of: edit) else { return false }
        // Without a readable file, the gist may be another one, and the text of the user would be lost.
        if isNew, gist.files.isEmpty { return false }
        for (name, wanted) in edit.files {
            guard let file = gist.files[name] else {
                if isNew, gist.truncated == true || gist.unreadableFiles.contains(name) { continue }
                return false
            }
            // Compare bytes: equal strings may differ in their normal form.
            if file.truncated != true, file.content?.utf8.elementsEqual(wanted.content.utf8) == true { continue }
            guard !file.isWhole, file.mayBe(wanted.content) != false else { return false }
            let text = try await text(of: file, in: gist, fetch)
            guard text.utf8.elementsEqual(wanted.content.utf8) else { return false }
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

extension Gist {
    /// The stored text of a file of this or another version of the gist, if it is certainly still the text of the file.
    fileprivate func text(of file: File, _ name: String, in gist: Gist) -> String? {
        guard let stored = files[name], stored.isWhole, let text = stored.content, let url = file.rawURL,
            stored.rawURL == url, file.mayBe(text) != false
        else { return nil }
        let isSameVersion = !gist.updatedAt.isEmpty && gist.updatedAt == updatedAt
        return isSameVersion || file.hasPermanentURL ? text : nil
    }
}

extension Gist.File {
    fileprivate mutating func complete(_ text: String) { (content, truncated) = (text, false) }

    fileprivate func failure(_ reason: String) -> AccountError {
        AccountError(.serviceUnavailable, "the whole text of \(filename) is not available: \(reason)")
    }
}

extension HTTPField.Name {
    fileprivate static let link = Self("Link")!
}

extension URLComponents {
    fileprivate var authority: String? { host.map { $0 + (port.map { ":\($0)" } ?? "") } }
}
