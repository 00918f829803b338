import HTTPTypes
import Hummingbird
import NIOCore

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// GitHub's REST API for gists, as documented: lists, reading, writing and stars.
///
/// The paths start at the root, as at api.github.com, and at `/api/v3`, as at GitHub Enterprise Server. The API accepts tokens of the server's own OAuth endpoints. `GistControlRoutes` shows and changes the data
/// without a client, and faults apply to this API, too.
///
/// Like GitHub, the server has neither preconditions for changes nor idempotency keys.
///
/// Source: https://docs.github.com/en/rest/gists/gists
struct GistRoutes: Sendable {
    let server: AuthorizationServer

    func add(to router: Router<ServerContext>) {
        for path in ["gists", "api/v3/gists"] { add(to: router.group(RouterPath(path))) }
        router.get("gists-raw/:id/:revision/:name", use: rawFile)
    }

    private func add(to gists: RouterGroup<ServerContext>) {
        gists.get("", use: handler(ownList))
        gists.post("", use: handler(create))
        gists.get("public", use: handler { try await list(.everyPublicOne, for: $0) })
        gists.get("starred", use: handler { try await list(.starredBy($0.user().username), for: $0) })
        gists.get(":id", use: handler(get))
        gists.patch(":id", use: handler(edit))
        gists.delete(":id", use: handler(delete))
        gists.get(":id/star", use: handler(checkStar))
        gists.put(":id/star", use: handler { try await setStar(true, for: $0) })
        gists.delete(":id/star", use: handler { try await setStar(false, for: $0) })
    }

    private func handler(
        _ handle: @escaping @Sendable (GistCall) async throws -> Response
    ) -> @Sendable (Request, ServerContext) async throws -> Response {
        { try await GistEnvelope(server: server).response(to: $0, context: $1, handle) }
    }
}

// MARK: - Reading

extension GistRoutes {
    /// The user's own gists, or the public gists for a request without a token.
    @Sendable
    private func ownList(_ call: GistCall) async throws -> Response {
        try await list(call.caller.map { .ownedBy($0.user.username) } ?? .everyPublicOne, for: call)
    }

    private func list(_ list: GistList, for call: GistCall) async throws -> Response {
        let uri = call.request.uri
        let since = try uri.queryParameters["since"].map { text in
            // The error is the same for any invalid date.
            guard let date = try? Date(String(text), strategy: .iso8601) else { throw GistError.invalid("since") }
            return date
        }
        let page = Page(of: uri)
        let found = await server.gists(in: list, since: since, page: page)
        var headers = HTTPFields()
        headers[.link] = page.links(total: found.total, uri: uri, origin: call.origin)
        return try call.representation(try found.gists.map { try call.document($0).item }, headers: headers)
    }

    @Sendable
    private func get(_ call: GistCall) async throws -> Response {
        let gist = try await server.readGists { try $0.gist(call.id) }
        return try call.representation(
            try call.document(gist).whole(contentLimit: call.settings.contentLimit),
            lastModified: gist.updatedAt
        )
    }

    @Sendable
    private func checkStar(_ call: GistCall) async throws -> Response {
        let user = try call.user().username
        let isStarred = await server.readGists { $0.isStarred(call.id, by: user) }
        guard isStarred else { throw GistError.notFound }
        return Response(status: .noContent)
    }

    /// The whole content of a file. Any client that has the address can read the content without a token. At GitHub, a
    /// separate host serves these files without tokens.
    @Sendable
    private func rawFile(_ request: Request, context: ServerContext) async throws -> Response {
        let id = context.parameters.get("id") ?? ""
        let name = context.parameters.get("name") ?? ""
        let files = await server.readGists { $0.gists[id]?.files ?? [:] }
        guard let content = files.first(where: { $0.key.percentEncoded == name })?.value else {
            throw GistError.notFound
        }
        return Response(
            status: .ok,
            headers: [.contentType: "text/plain; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: content))
        )
    }
}

// MARK: - Changes

extension GistRoutes {
    @Sendable
    private func create(_ call: GistCall) async throws -> Response {
        let (user, draft, now) = (try call.writer(), try await call.edit(), server.clock.now)
        let gist = try await server.updateGists {
            let gist = try $0.create(draft, owner: user.username, now: now)
            $0.note(call.change(of: gist.id, by: user))
            return gist
        }
        let document = try call.document(gist)
        return try .json(
            document.whole(contentLimit: call.settings.contentLimit),
            status: .created,
            headers: [.location: call.origin.url("/gists/\(gist.id)")]
        )
    }

    @Sendable
    private func edit(_ call: GistCall) async throws -> Response {
        let (user, edit, now) = (try call.writer(), try await call.edit(), server.clock.now)
        let gist = try await server.updateGists {
            let gist = try $0.edit(call.id, edit, owner: user.username, now: now)
            $0.note(call.change(of: gist.id, by: user))
            return gist
        }
        return try .json(try call.document(gist).whole(contentLimit: call.settings.contentLimit))
    }

    @Sendable
    private func delete(_ call: GistCall) async throws -> Response {
        let user = try call.writer()
        try await server.updateGists {
            try $0.delete(call.id, owner: user.username)
            $0.note(call.change(of: call.id, by: user))
        }
        return Response(status: .noContent)
    }

    private func setStar(_ isStarred: Bool, for call: GistCall) async throws -> Response {
        let user = try call.writer()
        try await server.updateGists {
            let changed = try $0.setStar(isStarred, call.id, by: user.username)
            $0.note(call.change(of: call.id, by: user, changed: changed))
        }
        return Response(status: .noContent)
    }
}

extension HTTPField.Name {
    static let link = Self("Link")!
}
