@testable import EndToEndSupport
import Foundation
import Testing

/// `account mcp` at a server that repeats the token. `MCPBridgeTests` has the table of places in a response.
@Suite(.queued)
struct RepeatedTokenTests {
    @Test func `mcp passes on no token that the server repeats`() async throws {
        try await SignedInUser.run { user in
            let path = "/tools"
            let token = try await user.account.storedToken()
            #expect(try await user.account("rule", "add", user.server.issuer, "--session", "default").exitCode == 0)
            for fault in [
                Fault(path: path, status: 302, headers: ["Location": "https://other.example/?token=\(token)"]),
                Fault(
                    path: path, status: 403,
                    headers: ["WWW-Authenticate": "Bearer error=\"insufficient_scope\", scope=\"\(token)\""]),
                Fault(path: path, status: 200, body: #"{"jsonrpc":"2.0","id":1,"result":{"headers":"\#(token)"}}"#),
            ] {
                try await user.server.setFaults(fault)
                let outcome = try await user.account.run(
                    ["mcp", user.server.issuer + path], input: MCPMessage.initialize + "\n")
                #expect(outcome.exitCode == 0 && outcome.output.hasPrefix(#"{"jsonrpc":"2.0","id":1,"#), "\(outcome)")
                #expect(!outcome.output.contains(token) && !outcome.errors.contains(token))
            }
        }
    }
}
