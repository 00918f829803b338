import HTTPTypes
import Hummingbird

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// GitHub's REST API for gists, as documented: lists, reading, writing and stars.
///
/// The paths start at the root, as at api.github.com, since a client of an API is configured with an origin, but no
/// path. The API accepts tokens of the server's own OAuth endpoints. `GistControlRoutes` shows and changes the data
/// without a client, and faults apply to this API, too. The server does not limit the rate, and never truncates a file.
///
/// Like GitHub, the server has neither preconditions for changes nor idempotency keys.
///
/// Source: https://docs.github.com/en/rest/gists/gists
struct GistRoutes: Sendable {
    let server: AuthorizationServer

    func add(to router: Router<ServerContext>) {
        let gists = router.group("gists")
        gists.get("", use: handler(ownList))
        gists.post("", use: handler(create))
        gists.get("public", use: handler { try await list(.everyPublicOne, for: $0) })
        gists.get("starred", use: handler { try await list(.starredBy($0.user().username), for: $0) })
        gists.get(":id", use: handler(get))
        gists.patch(":id", use: handler(edit))
        gists.delete(":id", use: handler(delete))
        gists.put(":id/star", use: handler { try await setStar(true, for: $0) })
        gists.delete(":id/star", use: handler { try await setStar(false, for: $0) })
    }

    private func handler(
        _ handle: @escaping @Sendable (GistCall) async throws -> Response
    ) -> @Sendable (Request, ServerContext) async throws -> Response {
        { try await response(to: $0, context: $1, handle) }
    }

    private func response(
        to request: Request,
        context: ServerContext,
        _ handle: @Sendable (GistCall) async throws -> Response
    ) async throws -> Response {
        if let refusal = server.settings.quirks.refusal(ofUserInfoRequest: request.headers) { return refusal }
        var response: Response
        do {
            response = try await handle(
                GistCall(
                    request: request,
                    context: context,
                    server: server,
                    origin: try Origin(of: request, settings: server.settings),
                    caller: try await caller(of: request)
                )
            )
        } catch let error as GistError {
            response = try error.response(from: request, context: context)
        }
        if response.headers[.contentType] == "application/json" {
            response.headers[.contentType] = "application/json; charset=utf-8"
        }
        return response
    }

    private func caller(of request: Request) async throws -> GistCaller? {
        guard request.headers[.authorization] != nil else { return nil }
        guard let token = request.headers.bearerToken else { throw GistError.badCredentials }
        return try await server.gistCaller(accessToken: token)
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
        return try call.representation(try call.document(gist).whole, lastModified: gist.updatedAt)
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
            document.whole, status: .created, headers: [.location: call.origin.url("/gists/\(gist.id)")])
    }

    @Sendable
    private func edit(_ call: GistCall) async throws -> Response {
        let (user, edit, now) = (try call.writer(), try await call.edit(), server.clock.now)
        let gist = try await server.updateGists {
            let gist = try $0.edit(call.id, edit, owner: user.username, now: now)
            $0.note(call.change(of: gist.id, by: user))
            return gist
        }
        return try .json(try call.document(gist).whole)
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
