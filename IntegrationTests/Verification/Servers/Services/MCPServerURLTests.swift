@testable import EndToEndSupport
import Foundation
import Testing

/// Signing in with only the URL of an API that the official MCP SDK for Python protects: metadata, registration and
/// resource of the SDK.
@Suite(.queued(minutes: 15))
struct MCPServerURLTests {
    private struct Clients: Decodable {
        let clients: [String]
    }

    @Test func `Registers, refreshes for its resource, and revokes with the secret`() async throws {
        try await PythonServer.run("mcp", importing: "mcp") { server in
            try await Container.run { container in
                let account = try Tool.account(in: container)
                let api = server.origin + "/api"
                let login = try await account.logIn([api]) { try await server.signInAtMCP(at: $0) }
                try #require(login.exitCode == 0, "\(login)")
                let clients = try await HTTP.get(server.origin + "/control/clients").text
                let client = try JSONDecoder().decode(Clients.self, from: Data(clients.utf8)).clients
                try #require(client.count == 1)
                let alice = PythonServerUser(
                    container: container, account: account, server: server, client: client[0], redirectURI: "",
                    issuer: server.origin, userInfo: api)
                try await alice.expectSingleUseTokens(haveUniqueTokens: false)
                try await alice.expectRevokedByLogout()
                // The SDK cannot remove registrations, so the next sign-in uses this one again.
                let files = try container.files().keys.filter { $0.contains("/Clients/Client-") }
                #expect(files.count == 1)
            }
        }
    }
}
