import Foundation
import NIOCore
import NIOHTTP1

/// A point at which the example server holds responses until the test opens the gate.
struct Gate: Sendable {
    let name: String
    fileprivate let server: ExampleServer

    /// Waits until the server has held `count` responses at this gate.
    func waitUntilHeld(_ count: Int = 1) async throws {
        let body = JSON.object(["gate": .text(name), "count": .integer(count)])
        _ = try await server.control(.POST, "gates/wait", body, timeout: .minutes(4))
    }

    /// Releases all held responses. The server holds no further responses.
    func open() async throws {
        _ = try await server.control(.POST, "gates/open", JSON.object(["gate": .text(name)]))
    }
}

extension ExampleServer {
    /// Whether the server holds a response before or after it carries out the request.
    enum Phase: Sendable { case before, after }

    /// Holds the responses to requests for a path from now on, replacing earlier faults.
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - grantType: Hold token requests of this grant type only.
    ///   - realStatus: Hold responses with this status only. The server always carries out such a request first.
    ///   - phase: Whether the server holds the response before or after it carries out the request.
    ///   - status: The status to reply with instead of carrying out the request.
    func hold(
        _ path: String, grantType: String? = nil, ifStatus realStatus: Int? = nil, _ phase: Phase = .after,
        status: Int? = nil
    ) async throws -> Gate {
        let gate = Gate(name: UUID().uuidString, server: self)
        let fault = Fault(
            path: path, grantType: grantType, ifStatus: realStatus, status: status, gate: gate.name,
            afterHandler: phase == .after && status == nil)
        try await setFaults([fault])
        return gate
    }

    /// Holds the responses that a fault applies to, and keeps the active faults.
    func hold(_ fault: Fault, _ phase: Phase = .after) async throws -> Gate {
        let gate = Gate(name: UUID().uuidString, server: self)
        var fault = fault
        (fault.gate, fault.afterHandler) = (gate.name, phase == .after)
        try await arm(fault)
        return gate
    }

    /// Holds the responses to refreshes. By default, the service has already spent the refresh token.
    func holdRefreshes(_ phase: Phase = .after) async throws -> Gate {
        try await hold("/oauth/token", grantType: "refresh_token", phase)
    }

    /// A description of a valid token, without the token itself.
    struct LiveToken: Decodable, Equatable, Sendable {
        let user: String
        let kind: String
        let scope: String
        let resources: [String]
        let audience: String?
    }

    private struct LiveTokens: Decodable {
        let tokens: [LiveToken]
    }

    /// The valid tokens of a user.
    func liveTokens(of user: String) async throws -> [LiveToken] {
        try JSONDecoder().decode(LiveTokens.self, from: try await control(.GET, "tokens?user=" + user)).tokens
    }

    /// Options for a server on which each token stays valid until a client revokes or exchanges that token. With these
    /// options, tests detect a token that AccountKit forgot to revoke.
    static let eachTokenByItself = ["--revocation-ends", "token", "--refresh-rotation", "both"]
}
