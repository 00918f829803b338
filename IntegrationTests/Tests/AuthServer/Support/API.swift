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

        /// The claims of the ID token.
        var idTokenClaims: JSONObject {
            get throws {
                let parts = try string("id_token").split(separator: ".")
                try #require(parts.count == 3)
                let base64 = parts[1].replacing("-", with: "+").replacing("_", with: "/")
                let padding = String(repeating: "=", count: (4 - base64.count % 4) % 4)
                let bytes = try #require(Data(base64Encoded: base64 + padding))
                return try JSONDecoder().decode(JSONObject.self, from: bytes)
            }
        }
    }

    struct Missing: Error, CustomStringConvertible {
        let description: String
    }

    func get(_ path: String, bearer: String? = nil, headers: HTTPFields = [:]) async throws -> Response {
        try await send(.get, path, headers: headers, bearer: bearer)
    }

    func post(_ path: String, json: String = "") async throws -> Response {
        try await send(.post, path, headers: [.contentType: "application/json"], body: json)
    }

    func delete(_ path: String) async throws -> Response {
        try await send(.delete, path)
    }

    /// Posts a form that includes `client_id`.
    func form(
        _ path: String, _ parameters: KeyValuePairs<String, String>, headers: HTTPFields = [:]
    ) async throws -> Response {
        let pairs = parameters.map { ($0.key, $0.value) }
        return try await form(path, pairs + [("client_id", "account-cli")], headers: headers)
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

    func signIn(as username: String = "alice") async throws -> Tokens {
        let password = username == "alice" ? Self.alicePassword : "hunter2 but longer"
        let response = try await form(
            "/oauth/token", ["grant_type": "password", "username": username, "password": password])
        return Tokens(access: try response.string("access_token"), refresh: try response.string("refresh_token"))
    }

    func refresh(_ token: String) async throws -> Response {
        try await form("/oauth/token", ["grant_type": "refresh_token", "refresh_token": token])
    }

    func userInfo(_ accessToken: String?) async throws -> Response {
        try await get("/oauth/userinfo", bearer: accessToken)
    }

    /// Activates faults instead of earlier ones.
    func setFaults(_ faults: String) async throws {
        let response = try await post("/control/faults", json: #"{"faults":[\#(faults)]}"#)
        try #require(response.status == 200, "\(response.body)")
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
