import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import NIOFoundationEssentialsCompat
import Testing

@testable import auth_server

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Sends the requests of tests.
struct API: Sendable {
    static let alicePassword = "correct horse battery staple"

    let client: any TestClientProtocol

    /// A response, with its body read as text and as JSON.
    struct Response: Sendable {
        let status: Int
        let headers: HTTPFields
        let body: String
        let json: JSONObject

        init(_ response: TestResponse) {
            status = response.status.code
            headers = response.headers
            body = String(buffer: response.body)
            json = (try? JSONDecoder().decode(JSONObject.self, from: response.body)) ?? [:]
        }

        func string(_ name: String) throws -> String {
            guard case .string(let text) = json[name] else {
                throw Missing(description: "no string \(name) in \(status) \(body)")
            }
            return text
        }

        var error: String? { try? string("error") }
    }

    struct Missing: Error, CustomStringConvertible {
        let description: String
    }

    func get(_ path: String, bearer: String? = nil, headers: HTTPFields = [:]) async throws -> Response {
        try await send(.get, path, headers: headers, bearer: bearer)
    }

    func post(_ path: String, json: String = "", bearer: String? = nil) async throws -> Response {
        try await send(.post, path, headers: [.contentType: "application/json"], bearer: bearer, body: json)
    }

    func delete(_ path: String) async throws -> Response {
        try await send(.delete, path)
    }

    /// Posts a form that includes `client_id`.
    func form(
        _ path: String,
        _ parameters: KeyValuePairs<String, String>,
        clientID: String? = "account-cli",
        headers: HTTPFields = [:]
    ) async throws -> Response {
        var pairs = parameters.map { ($0.key, $0.value) }
        if let clientID {
            pairs.append(("client_id", clientID))
        }
        return try await form(path, pairs, headers: headers)
    }

    func form(_ path: String, _ pairs: [(String, String)], headers: HTTPFields = [:]) async throws -> Response {
        var headers = headers
        headers[.contentType] = "application/x-www-form-urlencoded"
        return try await send(.post, path, headers: headers, body: Self.encoded(pairs))
    }

    func send(
        _ method: HTTPRequest.Method,
        _ path: String,
        headers: HTTPFields = [:],
        bearer: String? = nil,
        body: String? = nil
    ) async throws -> Response {
        var headers = headers
        if let bearer {
            headers[.authorization] = "Bearer \(bearer)"
        }
        let bytes = body.map { ByteBuffer(string: $0) }
        return Response(try await client.executeRequest(uri: path, method: method, headers: headers, body: bytes))
    }

    static func encoded(_ pairs: some Sequence<(String, String)>) -> String {
        pairs.map { "\($0.0)=\(escaped($0.1))" }.joined(separator: "&")
    }

    private static func escaped(_ text: String) -> String {
        text.utf8.map { byte in
            let character = Character(UnicodeScalar(byte))
            let isPlain = byte < 128 && (character.isLetter || character.isNumber)
            let digits = String(byte, radix: 16, uppercase: true)
            return isPlain ? String(character) : "%" + (digits.count == 1 ? "0" : "") + digits
        }.joined()
    }
}

// MARK: - Common steps

extension API {
    struct Tokens: Sendable {
        let access: String
        let refresh: String
    }

    func signIn(scope: String? = nil) async throws -> Tokens {
        var response = try await form(
            "/oauth/token",
            ["grant_type": "password", "username": "alice", "password": Self.alicePassword]
        )
        if let scope {
            response = try await form(
                "/oauth/token",
                ["grant_type": "password", "username": "alice", "password": Self.alicePassword, "scope": scope]
            )
        }
        return Tokens(access: try response.string("access_token"), refresh: try response.string("refresh_token"))
    }

    func refresh(_ token: String, scope: String? = nil) async throws -> Response {
        guard let scope else {
            return try await form("/oauth/token", ["grant_type": "refresh_token", "refresh_token": token])
        }
        return try await form(
            "/oauth/token",
            ["grant_type": "refresh_token", "refresh_token": token, "scope": scope]
        )
    }

    func userInfo(_ accessToken: String?) async throws -> Response {
        try await get("/oauth/userinfo", bearer: accessToken)
    }

    /// Returns the count of this name in `GET /control/log`, or 0 if the log has no such count.
    func count(_ name: String) async throws -> Int {
        let log = try await get("/control/log")
        guard case .object(let counts) = log.json["counts"], case .integer(let count) = counts[name] ?? 0 else {
            throw Missing(description: "no counts in \(log.body)")
        }
        return count
    }
}
