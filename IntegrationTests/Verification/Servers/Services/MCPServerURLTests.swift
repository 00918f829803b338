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

    /// Runs a test with alice signed in at a new server, whose only client is the tool.
    private func run(_ test: (PythonServerUser, _ api: String) async throws -> Void) async throws {
        try await PythonServer.run("mcp", importing: "mcp") { server in
            try await Container.run { container in
                let account = try Tool.account(in: container)
                let api = server.origin + "/api"
                let login = try await account.logIn([api]) { address in
                    let page = try await HTTP.get(address).text
                    guard let path = page.firstMatch(of: /action="([^"]+)"/)?.output.1 else { throw Unexpected(page) }
                    let password = PythonServer.password.replacing(" ", with: "+")
                    _ = try await HTTP.postForm(server.origin + path, "username=alice&password=\(password)")
                }
                try #require(login.exitCode == 0, "\(login)")
                let clients = try await HTTP.get(server.origin + "/control/clients").text
                let client = try JSONDecoder().decode(Clients.self, from: Data(clients.utf8)).clients
                try #require(client.count == 1)
                let user = PythonServerUser(
                    container: container, account: account, server: server, client: client[0], redirectURI: "",
                    issuer: server.origin, userInfo: api)
                try await test(user, api)
            }
        }
    }

    @Test func `Registers, calls the API and refreshes for its resource`() async throws {
        try await run { alice, _ in
            #expect(try await alice.accepts(try await alice.account.storedToken()))
            try await alice.expectRotation(hasUniqueTokens: false)
            #expect(try await alice.accepts(try await alice.account.storedToken()))
        }
    }

    @Test func `Refreshes once for eight processes after signing in by URL`() async throws {
        try await run { alice, _ in
            try await alice.expectOneRefreshForEightProcesses()
            #expect(try await alice.accepts(try await alice.account.storedToken()))
        }
    }

    @Test func `Ends the session when the service has revoked it`() async throws {
        try await run { alice, _ in
            try await alice.server.endSignIns(of: alice.client)
            #expect(try await alice.account("refresh").exitCode == 77)
            #expect(!alice.container.exists(alice.container.archive))
        }
    }

    @Test func `Revokes the tokens at sign-out with the registered secret`() async throws {
        try await run { alice, _ in
            try await alice.expectRevokedByLogout()
            // The SDK cannot remove registrations, so the next sign-in uses this one again.
            let files = try alice.container.files().keys.filter { $0.contains("/Clients/Client-") }
            #expect(files.count == 1)
        }
    }
}
