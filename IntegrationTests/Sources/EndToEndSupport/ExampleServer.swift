import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1

/// The built `auth-server`, and its control endpoints.
struct ExampleServer: Sendable {
    static let alicePassword = "correct horse battery staple"
    static let bobPassword = "hunter2 but longer"

    /// The server's issuer identifier, which is also its address.
    let issuer: String

    var port: Int { URL(string: issuer)?.port ?? 0 }

    /// Starts a server on a free port, and ends it after the test.
    static func run<Result: Sendable>(
        _ options: [String] = [], _ test: (ExampleServer) async throws -> Result
    ) async throws -> Result {
        let command = Command(words: [try BuiltProducts.path(of: "auth-server"), "--quiet"] + options)
        return try await ServerProcess.run(command) { try await test(ExampleServer(issuer: $0)) }
    }
}

// MARK: - Control

extension ExampleServer {
    /// The requests of clients.
    struct Log: Decodable, Sendable {
        struct Request: Decodable, Equatable, Sendable {
            let method: String
            let path: String
            let grantType: String?
            let status: Int?
            /// The requested scope.
            let scope: String?
            let resource: String?
            let audience: String?
            let clientID: String?
            /// The method by which the client sent a secret.
            let secret: String?
        }

        let requests: [Request]
        private let counts: [String: Int]

        /// The number of requests for a path, or the number of `refreshes`, `rotations` or `reuseAlarms`.
        subscript(name: String) -> Int { counts[name] ?? 0 }
    }

    /// The requests since the server was started or the log was cleared.
    func log() async throws -> Log {
        try JSONDecoder().decode(Log.self, from: try await control(.GET, "log"))
    }

    private struct Clients: Decodable {
        let clients: [String]
    }

    /// The registered clients.
    func clients() async throws -> [String] {
        try JSONDecoder().decode(Clients.self, from: try await control(.GET, "clients")).clients
    }

    /// Makes the server forget its registered clients.
    func forgetClients() async throws { _ = try await control(.DELETE, "clients") }

    func clearLog() async throws { _ = try await control(.DELETE, "log") }

    /// Activates faults, replacing earlier ones.
    func setFaults(_ faults: Fault...) async throws { try await setFaults(faults) }

    func setFaults(_ faults: [Fault]) async throws {
        _ = try await control(.POST, "faults", ["faults": faults])
    }

    /// Activates faults in addition to the active ones.
    func arm(_ faults: Fault...) async throws {
        _ = try await control(.POST, "faults", ArmedFaults(faults: faults))
    }

    private struct ArmedFaults: Encodable {
        let faults: [Fault]
        let keep = true
    }

    func clearFaults() async throws { _ = try await control(.DELETE, "faults") }

    /// Expires all access tokens.
    func expireTokens() async throws { _ = try await control(.POST, "expire") }

    func endSessions() async throws { _ = try await control(.POST, "revoke") }

    /// Moves the server's clock.
    func setClock(ahead seconds: Double) async throws {
        _ = try await control(.POST, "clock", ["offsetSeconds": seconds])
    }

    /// The responses whose members can be altered.
    enum Response: String {
        case token = "token-response"
        case userInfo = "userinfo-response"
        case discovery = "discovery-response"
        case openIDConfiguration = "openid-configuration-response"
        case serverMetadata = "authorization-server-metadata-response"
        case idToken = "id-token"
        case resourceMetadata = "resource-metadata-response"
        case registration = "registration-response"
        case authorization = "authorization-response"
    }

    /// Omits members from a response and sets others from now on.
    func alter(_ response: Response, omitting names: [String] = [], setting members: [String: JSON] = [:]) async throws
    {
        _ = try await control(.POST, response.rawValue, JSON.object(["omit": .list(names), "set": .object(members)]))
    }

    func control(
        _ method: HTTPMethod, _ path: String, _ body: (any Encodable)? = nil, timeout: TimeAmount = .minutes(2)
    ) async throws -> Data {
        let bytes = try body.map { [UInt8](try JSONEncoder().encode($0)) }
        let response = try await HTTP.send(method, issuer + "/control/" + path, body: bytes, timeout: timeout)
        guard response.status == 200 else { throw Unexpected("/control/\(path): \(response.status) \(response.text)") }
        return Data(response.text.utf8)
    }
}

/// A fault for the requests to a path; see the server's own `Fault`.
struct Fault: Encodable, Sendable {
    enum Disconnect: String, Encodable { case before, truncated, garbled }

    /// A path, or the beginning of a path followed by `*`.
    var path: String
    var method: String?
    var grantType: String?
    var ifStatus: Int?
    var status: Int?
    var headers: [String: String] = [:]
    var body: String?
    var delayMilliseconds = 0
    var gate: String?
    var disconnect: Disconnect?
    var afterHandler = false
    var skip = 0
    var times: Int?
}

/// A JSON value.
enum JSON: Codable, Equatable, Sendable {
    case null
    case boolean(Bool)
    case integer(Int)
    case real(Double)
    case text(String)
    case array([JSON])
    case object([String: JSON])

    static func list(_ texts: [String]) -> JSON { .array(texts.map { .text($0) }) }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .boolean(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .real(let value): try container.encode(value)
        case .text(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .boolean(value)
        } else if let value = try? container.decode(Int.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .real(value)
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let value = try? container.decode([JSON].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSON].self))
        }
    }
}
