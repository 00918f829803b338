import Foundation
import NIOCore
import NIOHTTP1

/// A place at the example server where responses are held until the test lets them go.
struct Gate: Sendable {
    let name: String
    fileprivate let server: ExampleServer

    /// Waits until so many responses have been held here.
    func waitUntilHeld(_ count: Int = 1) async throws {
        let body = JSON.object(["gate": .text(name), "count": .integer(count)])
        _ = try await server.control(.POST, "gates/wait", body, timeout: .minutes(4))
    }

    /// Lets everything go, and holds nothing from now on.
    func open() async throws {
        _ = try await server.control(.POST, "gates/open", JSON.object(["gate": .text(name)]))
    }
}

extension ExampleServer {
    /// When a response is held: before its request was carried out, or after that.
    enum Phase: Sendable { case before, after }

    /// Holds the responses to the requests for a path from now on, in place of earlier faults.
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - grantType: Token requests of this grant type only.
    ///   - realStatus: Responses with this status only, for which the request is always carried out first.
    ///   - phase: Whether the request is carried out before or after the response is held.
    ///   - status: What is replied in place of carrying out the request.
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

    /// Holds the responses that a fault applies to, and leaves the faults in force that there are.
    func hold(_ fault: Fault, _ phase: Phase = .after) async throws -> Gate {
        let gate = Gate(name: UUID().uuidString, server: self)
        var fault = fault
        (fault.gate, fault.afterHandler) = (gate.name, phase == .after)
        try await arm(fault)
        return gate
    }

    /// Holds refreshes, which have spent a refresh token by then.
    func holdRefreshes(_ phase: Phase = .after) async throws -> Gate {
        try await hold("/oauth/token", grantType: "refresh_token", phase)
    }

    /// A token that someone could use now; not the token itself.
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

    /// The tokens that someone could use now.
    func liveTokens(of user: String) async throws -> [LiveToken] {
        try JSONDecoder().decode(LiveTokens.self, from: try await control(.GET, "tokens?user=" + user)).tokens
    }

    /// A server at which a token lives on until it is itself revoked or exchanged, so that one that was forgotten shows.
    static let eachTokenByItself = ["--revocation-ends", "token", "--refresh-rotation", "both"]
}
