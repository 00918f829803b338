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

    init(_ api: API, as username: String = "alice") async throws {
        self.init(api, token: try await api.signIn(as: username).access)
    }

    init(_ api: API, token: String?) {
        self.api = api
        self.token = token
    }

    func get(_ path: String, headers: HTTPFields = [:]) async throws -> API.Response {
        try await api.get(path, bearer: token, headers: headers)
    }

    func send(_ method: HTTPRequest.Method, _ path: String, _ body: String? = nil) async throws -> API.Response {
        try await api.send(method, path, bearer: token, body: body)
    }

    /// Creates a gist and returns its id.
    func create(isPublic: Bool = false) async throws -> String {
        let body = #"{"public":\#(isPublic),"files":{"a.txt":{"content":"one"}}}"#
        return try await send(.post, "/gists", body).string("id")
    }

    /// Adds gists through the control endpoints, and returns their ids, the newest first.
    func seed(_ count: Int) async throws -> [JSONValue?] {
        let response = try await api.post("/control/gists-seed", json: #"{"user":"alice","count":\#(count)}"#)
        guard case .array(let ids) = response.json["ids"] else { throw API.Missing(description: response.body) }
        return ids.reversed().map { Optional($0) }
    }
}

extension API.Response {
    /// The ids of a list of gists.
    var ids: [JSONValue?] {
        get throws { try JSONDecoder().decode([JSONObject].self, from: Data(body.utf8)).map { $0["id"] } }
    }
}

extension JSONValue {
    /// A member of an object.
    subscript(name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members[name]
    }
}
