import HTTPTypes
import Hummingbird

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A second API for the same users, such as a small app's own backend.
///
/// The API does not use OAuth: requests and responses are JSON, a session has one token that neither expires nor is
/// refreshed, and a refusal also has status `200 OK`, with the outcome in the body. Many services work like this. A
/// client must read the body to distinguish an ended session from a server error.
///
/// - `POST /login` with `{"username":…,"password":…}`: `{"status":"ok","data":{"token":…,"id":…,…}}`, or
///   `{"status":"error","code":"wrong_password","message":…}`.
/// - `POST /userinfo` with a Bearer token: `{"status":"ok","data":{"id":…,…}}`, or code `session_revoked`; without a
///   token, code `token_missing`.
/// - `POST /logout` with a Bearer token: `{"status":"ok"}`, whether or not the session existed.
struct AppRoutes: Sendable {
    private struct Credentials: Decodable {
        let username: String
        let password: String
    }

    let server: AuthorizationServer

    func add(to router: Router<ServerContext>) {
        router.post("login", use: login)
        router.post("userinfo", use: userInfo)
        router.post("logout", use: logout)
    }

    @Sendable
    private func login(_ request: Request, context: ServerContext) async throws -> Response {
        let credentials: Credentials
        do {
            credentials = try await JSONDecoder().decode(Credentials.self, from: request, context: context)
        } catch is DecodingError {
            return try refusal("bad_request", "the body must be JSON with username and password", status: .badRequest)
        }
        let session = try await server.openAppSession(username: credentials.username, password: credentials.password)
        guard let session else { return try refusal("wrong_password", "Wrong username or password.") }
        return try success(session.user.appProfile.merging(["token": .string(session.token)]) { _, new in new })
    }

    @Sendable
    private func userInfo(_ request: Request, context: ServerContext) async throws -> Response {
        guard let token = request.headers.bearerToken else { return try refusal("token_missing", "Not signed in.") }
        guard let user = await server.user(ofAppSession: token) else {
            return try refusal("session_revoked", "This session has ended.")
        }
        return try success(user.appProfile)
    }

    @Sendable
    private func logout(_ request: Request, context: ServerContext) async throws -> Response {
        if let token = request.headers.bearerToken {
            try await server.closeAppSession(token)
        }
        return try .json(["status": "ok"] as JSONObject)
    }

    private func success(_ data: JSONObject) throws -> Response {
        try .json(["status": "ok", "data": .object(data)] as JSONObject, headers: .neverStored)
    }

    private func refusal(
        _ code: String,
        _ message: String,
        status: HTTPResponse.Status = .ok
    ) throws -> Response {
        let response: JSONObject = ["status": "error", "code": .string(code), "message": .string(message)]
        return try .json(response, status: status, headers: .neverStored)
    }
}
