import HTTPTypes
import Testing

@testable import auth_server

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The gists API with the token of one user.
struct GistClient: Sendable {
    let api: API
    let token: String?

    init(_ api: API, username: String = "alice", password: String = API.alicePassword) async throws {
        let tokens = try await api.form(
            "/oauth/token", ["grant_type": "password", "username": username, "password": password])
        self.init(api, token: try tokens.string("access_token"))
    }

    init(_ api: API, token: String?) {
        self.api = api
        self.token = token
    }

    static func bob(_ api: API) async throws -> GistClient {
        try await GistClient(api, username: "bob", password: "hunter2 but longer")
    }

    func get(_ path: String, headers: HTTPFields = [:]) async throws -> API.Response {
        try await api.get(path, bearer: token, headers: headers)
    }

    func send(_ method: HTTPRequest.Method, _ path: String, _ body: JSONObject? = nil) async throws -> API.Response {
        let text = try body.map { String(decoding: try JSONEncoder().encode($0), as: UTF8.self) }
        return try await api.send(method, path, bearer: token, body: text)
    }

    /// Creates a gist and returns its id.
    func create(_ name: String = "a.txt", isPublic: Bool = false) async throws -> String {
        let response = try await send(
            .post, "/gists", ["public": .boolean(isPublic), "files": [name: ["content": "one"]]])
        try #require(response.status == 201, "\(response.body)")
        return try response.string("id")
    }
}

extension API.Response {
    /// The body as a list of objects.
    var items: [JSONObject] {
        get throws { try JSONDecoder().decode([JSONObject].self, from: Data(body.utf8)) }
    }

    /// The values of a member in the items of a list.
    func members(_ name: String) throws -> [JSONValue?] { try items.map { $0[name] } }

    func field(_ name: String) -> String? { HTTPField.Name(name).flatMap { headers[$0] } }
}

extension JSONValue {
    /// A member of an object.
    subscript(name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members[name]
    }
}

extension API {
    /// Adds gists through the control endpoints, and returns their ids, the oldest first.
    func seed(_ count: Int, user: String = "alice", _ more: JSONObject = [:]) async throws -> [String] {
        let body = more.merging(["user": .string(user), "count": .integer(count)]) { _, new in new }
        let text = String(decoding: try JSONEncoder().encode(body), as: UTF8.self)
        let response = try await post("/control/gists-seed", json: text)
        guard case .array(let ids) = response.json["ids"] else { throw Missing(description: response.body) }
        return ids.compactMap { if case .string(let id) = $0 { id } else { nil } }
    }

    /// The changes of clients.
    func gistChanges() async throws -> [JSONValue] {
        let response = try await get("/control/gists")
        guard case .array(let changes) = response.json["changes"] else { throw Missing(description: response.body) }
        return changes
    }

    func setFaults(_ faults: String) async throws {
        let response = try await post("/control/faults", json: #"{"faults":[\#(faults)]}"#)
        try #require(response.status == 200, "\(response.body)")
    }
}
