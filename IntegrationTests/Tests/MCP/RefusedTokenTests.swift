@testable import EndToEndSupport
import Foundation
import Testing

/// `account mcp` at servers as they are after a restart. `MCPBridgeTests` and `AuthenticatedClientTests` have the tables of responses.
@Suite(.queued)
struct RefusedTokenTests {
    private static let begun =
        #"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{}}}"#
    private static let ping = #"{"jsonrpc":"2.0","id":2,"method":"ping"}"#
    private static let stream =
        ": ping\n\ndata: {\"type\":\"heartbeat\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"2\",\"result\":{}}\n\n"

    @Test(arguments: [[:], ["WWW-Authenticate": "Bearer"], ["WWW-Authenticate": "Basic realm=x"]])
    func `mcp refreshes a token once that the server refuses`(challenge: [String: String]) async throws {
        try await SignedInUser.run { user in
            let path = "/tools"
            let old = try await user.account.storedToken()
            #expect(try await user.account("rule", "add", user.server.issuer, "--session", "default").exitCode == 0)
            try await user.server.setFaults(
                Fault(path: path, status: 401, headers: challenge, body: "", times: 1),
                Fault(
                    path: path, method: "POST", status: 200, headers: ["Mcp-Session-Id": "s1"], body: Self.begun,
                    times: 1),
                Fault(path: path, method: "POST", status: 400, body: "Invalid session ID", times: 1),
                Fault(
                    path: path, method: "POST", status: 200, headers: ["Mcp-Session-Id": "s2"], body: Self.begun,
                    times: 1),
                Fault(path: path, method: "POST", status: 202, body: "", times: 1),
                Fault(
                    path: path, method: "POST", status: 200, headers: ["Content-Type": "text/event-stream"],
                    body: Self.stream),
                Fault(path: path, status: 405, body: ""))
            let outcome = try await user.account.run(
                ["mcp", user.server.issuer + path], input: "\(MCPMessage.initialize)\n\(Self.ping)\n")
            #expect(outcome.exitCode == 0, "\(outcome)")
            #expect(outcome.output == Self.begun + "\n" + #"{"jsonrpc":"2.0","id":2,"result":{}}"# + "\n", "\(outcome)")
            #expect(try await user.account.storedToken() != old)
            #expect(try await user.server.log().requests.count { $0.grantType == "refresh_token" } == 1)
        }
    }

    @Test func `mcp keeps the session if the server refuses each token`() async throws {
        try await SignedInUser.run { user in
            let path = "/tools"
            #expect(try await user.account("rule", "add", user.server.issuer, "--session", "default").exitCode == 0)
            try await user.server.setFaults(Fault(path: path, status: 401, body: ""))
            let messages = (1...3).map { #"{"jsonrpc":"2.0","id":\#($0),"method":"ping"}"# + "\n" }.joined()
            let outcome = try await user.account.run(["mcp", user.server.issuer + path], input: messages)
            #expect(outcome.exitCode == 0 && outcome.output.contains(#""code":77,"#), "\(outcome)")
            #expect(try await user.account("whoami").output.contains("alice"))
            #expect(try await user.server.log().requests.count { $0.grantType == "refresh_token" } <= 3)
        }
    }
}
