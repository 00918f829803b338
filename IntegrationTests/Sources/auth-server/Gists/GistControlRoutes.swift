import HTTPTypes

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
/// | `POST /control/gists-seed` | `{"user":"alice","count":100,"isStarred":false}` | `{"ids":[…]}`, the oldest first |
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
        let isStarred: Bool?
    }

    let server: AuthorizationServer

    func add(to control: ControlGroup) {
        control.on(.get, "gists") { address in
            await server.readGists { ledger in
                let owners = address.user.map { [$0] } ?? Set(ledger.gists.values.map(\.owner)).sorted()
                return Everything(
                    gists: owners.flatMap { ledger.gists(in: .ownedBy($0)) }.map { Shown($0, in: ledger) },
                    changes: ledger.changes.filter { address.user == nil || $0.user == address.user }
                )
            }
        }
        control.on(.post, "gists", members: ["user", "description", "public", "files"]) { (body: JSONObject, _) in
            guard case .string(let name) = body["user"] else { throw ControlError(message: "user is missing") }
            let (user, draft, now) = (try server.knownUser(name), try GistEdit(body), server.clock.now)
            return try await server.updateGists { ledger in
                Shown(try ledger.create(draft, owner: user, now: now), in: ledger)
            }
        }
        control.on(.patch, "gists/:id", members: ["description", "files"]) { (body: JSONObject, address) in
            let (id, edit, now) = (address.id, try GistEdit(body), server.clock.now)
            return try await server.updateGists { ledger in
                // The date must differ even within the same second, so that a test can detect the change.
                let later = try ledger.gist(id).updatedAt.addingTimeInterval(1)
                return Shown(try ledger.edit(id, edit, owner: nil, now: max(now, later)), in: ledger)
            }
        }
        control.on(.delete, "gists/:id") { address in
            try await server.updateGists { try $0.delete(address.id, owner: nil) }
            return JSONObject()
        }
        control.on(.post, "gists/:id/star", members: ["user", "starred"]) { (star: Star, address) in
            let user = try server.knownUser(star.user)
            _ = try await server.updateGists { try $0.setStar(star.starred, address.id, by: user) }
            return JSONObject()
        }
        control.on(.post, "gists-seed", members: ["user", "count", "isStarred"]) { (seed: Seed, _) in
            let (user, now) = (try server.knownUser(seed.user), server.clock.now)
            let ids = try await server.updateGists {
                $0.seed(seed.count, of: user, isStarred: seed.isStarred ?? false, now: now)
            }
            return ["ids": ids]
        }
        control.on(.post, "gists-settings", members: nil) { (settings: GistSettings, _) in
            await server.updateGistControls { $0.settings = settings }
            return settings
        }
        control.on(.get, "gists-requests") { _ in
            let routes = await server.updateLog { $0 }.requests.compactMap { $0.gistRoute }
            return Dictionary(routes.map { ($0, 1) }, uniquingKeysWith: +)
        }
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
