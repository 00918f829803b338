import HTTPTypes
import Hummingbird

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The control endpoints of the gists API, which show and change the server's data without a client.
///
/// The data of each response is from one moment, and each request is atomic. Otherwise these endpoints work like those
/// of `ControlRoutes`. Dates are in seconds since 1970.
///
/// | request | body | response |
/// | --- | --- | --- |
/// | `GET /control/gists?user=alice` | | `{"gists":[…],"changes":[…]}`, see `Shown` and `AppliedGistChange`; all users' without `user` |
/// | `POST /control/gists` | `{"user":"alice","description":"x","public":false,"files":{"a.txt":{"content":"…"}}}` | the gist |
/// | `PATCH /control/gists/ID` | `{"description":"x","files":{"a.txt":null}}`, as in the API | the gist, whose date is at least a second later |
/// | `DELETE /control/gists/ID` | | `{}` |
/// | `POST /control/gists/ID/star` | `{"user":"alice","starred":true}` | `{}` |
/// | `POST /control/gists-seed` | `{"user":"alice","count":100}`, see `GistLedger.Seed` | `{"ids":[…]}`, the oldest first |
/// | `POST /control/gists-settings` | see `GistSettings`; omitted settings get their initial values | the settings |
/// | `GET /control/gists-requests` | | `{"GET /gists":2,"PUT /gists/{id}/star":1}`: requests in the log by route |
struct GistControlRoutes: Sendable {
    /// A gist with the contents of its files.
    private struct Shown: Encodable {
        let id: String
        let owner: String
        let description: String?
        let isPublic: Bool
        let files: [String: String]
        let createdAt: Double
        let updatedAt: Double
        let starredBy: [String]

        init(_ gist: Gist, in ledger: GistLedger) {
            id = gist.id
            owner = gist.owner
            description = gist.description
            isPublic = gist.isPublic
            files = gist.files
            createdAt = gist.createdAt.timeIntervalSince1970
            updatedAt = gist.updatedAt.timeIntervalSince1970
            starredBy = ledger.stargazers(of: gist.id)
        }
    }

    private struct Everything: Encodable {
        let gists: [Shown]
        let changes: [AppliedGistChange]
    }

    private struct Star: Decodable {
        let user: String
        let starred: Bool
    }

    private struct Seed: Decodable {
        let user: String
        let count: Int
        let name: String?
        let bytes: Int?
        let isPublic: Bool?
        let isStarred: Bool?
    }

    let server: AuthorizationServer

    func add(to router: Router<ServerContext>) {
        let control = router.group("control")
        control.get("gists", use: show)
        control.post("gists", use: create)
        control.patch("gists/:id", use: edit)
        control.delete("gists/:id", use: delete)
        control.post("gists/:id/star", use: setStar)
        control.post("gists-seed", use: seed)
        control.post("gists-settings", use: setSettings)
        control.get("gists-requests", use: requests)
    }

    @Sendable
    private func show(_ request: Request, context: ServerContext) async throws -> Response {
        let user = try request.uri.queryParameters["user"].map { try known(String($0)) }
        let everything = await server.readGists { ledger in
            let owners = user.map { [$0] } ?? Set(ledger.gists.values.map(\.owner)).sorted()
            return Everything(
                gists: owners.flatMap { ledger.gists(in: .ownedBy($0)) }.map { Shown($0, in: ledger) },
                changes: ledger.changes.filter { user == nil || $0.user == user }
            )
        }
        return try .json(everything)
    }

    @Sendable
    private func create(_ request: Request, context: ServerContext) async throws -> Response {
        var body: JSONObject = try await request.controlBody(
            context, members: ["user", "description", "public", "files"])
        guard case .string(let name) = body.removeValue(forKey: "user") else {
            throw ControlError(message: "user is missing")
        }
        let (user, draft, now) = (try known(name), try GistEdit(body), server.clock.now)
        return try .json(
            try await server.updateGists { ledger in
                Shown(try ledger.create(draft, owner: user, now: now), in: ledger)
            })
    }

    @Sendable
    private func edit(_ request: Request, context: ServerContext) async throws -> Response {
        let body: JSONObject = try await request.controlBody(context, members: ["description", "files"])
        let (id, edit, now) = (context.parameters.get("id") ?? "", try GistEdit(body), server.clock.now)
        return try .json(
            try await server.updateGists { ledger in
                // The date must differ even within the same second, so that a test can detect the change.
                let later = try ledger.gist(id).updatedAt.addingTimeInterval(1)
                return Shown(try ledger.edit(id, edit, owner: nil, now: max(now, later)), in: ledger)
            })
    }

    @Sendable
    private func delete(_ request: Request, context: ServerContext) async throws -> Response {
        let id = context.parameters.get("id") ?? ""
        try await server.updateGists { try $0.delete(id, owner: nil) }
        return try .json(JSONObject())
    }

    @Sendable
    private func setStar(_ request: Request, context: ServerContext) async throws -> Response {
        let star: Star = try await request.controlBody(context, members: ["user", "starred"])
        let (id, user) = (context.parameters.get("id") ?? "", try known(star.user))
        _ = try await server.updateGists { try $0.setStar(star.starred, id, by: user) }
        return try .json(JSONObject())
    }

    @Sendable
    private func seed(_ request: Request, context: ServerContext) async throws -> Response {
        let wanted: Seed = try await request.controlBody(
            context, members: ["user", "count", "name", "bytes", "isPublic", "isStarred"])
        guard (0...1_000_000).contains(wanted.count) else { throw ControlError(message: "count is up to a million") }
        var seed = GistLedger.Seed(user: try known(wanted.user), count: wanted.count)
        seed.name = wanted.name ?? seed.name
        seed.bytes = wanted.bytes ?? seed.bytes
        seed.isPublic = wanted.isPublic ?? false
        seed.isStarred = wanted.isStarred ?? false
        let (complete, now) = (seed, server.clock.now)
        return try .json(["ids": try await server.updateGists { $0.seed(complete, now: now) }])
    }

    @Sendable
    private func setSettings(_ request: Request, context: ServerContext) async throws -> Response {
        let settings: GistSettings = try await request.controlBody(context)
        await server.updateGistControls { $0.settings = settings }
        return try .json(settings)
    }

    @Sendable
    private func requests(_ request: Request, context: ServerContext) async throws -> Response {
        let routes = await server.updateLog { $0 }.requests.compactMap { $0.gistRoute }
        return try .json(Dictionary(routes.map { ($0, 1) }, uniquingKeysWith: +))
    }

    private func known(_ user: String) throws -> String {
        guard server.settings.users[user] != nil else { throw ControlError(message: "there is no such user") }
        return user
    }
}

extension RequestLog.Entry {
    /// The route of a request to the gists API, without ids.
    fileprivate var gistRoute: String? {
        var parts = path.split(separator: "/").map(String.init)
        guard parts.first == "gists" else { return nil }
        if parts.count > 1, !["public", "starred"].contains(parts[1]) {
            parts[1] = "{id}"
        }
        return "\(method) /" + parts.joined(separator: "/")
    }
}
