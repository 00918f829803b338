@testable import EndToEndSupport
import Testing

/// A service that issues refresh tokens only to clients that request `offline_access`. `ServiceDocumentsTests` has the
/// table of requested scopes.
@Suite(.queued)
struct OfflineAccessTests {
    private func run(
        _ policy: String, _ test: (ExampleServer, Tool) async throws -> Void
    ) async throws {
        try await Container.run { container in
            try await ExampleServer.run(["--refresh-tokens", policy, "--device-interval", "1"]) { server in
                try await test(server, try .account(in: container))
            }
        }
    }

    private func logIn(_ account: Tool, _ server: ExampleServer, _ arguments: [String] = []) async throws -> Outcome {
        try await account.run(
            ["login", "--issuer", server.issuer, "--username", "alice", "--password-stdin"] + arguments,
            input: ExampleServer.alicePassword + "\n")
    }

    @Test func `Requests offline_access and the given scopes, and remembers them`() async throws {
        let defaults = ["email", "offline_access", "openid", "profile"]
        let withPhone = (defaults + ["phone"]).sorted()
        let rows: [(options: [String], scopes: [String])] = [
            (["--scope", "phone"], withPhone), ([], withPhone),
            (["--no-default-scopes", "--scope", "openid"], ["openid"]), (["--default-scopes"], defaults),
        ]
        try await run("offline-access") { server, account in
            for row in rows {
                try await server.clearLog()
                let login = try await logIn(account, server, row.options)
                #expect(login.exitCode == 0, "\(login)")
                let scope = try await server.log().requests.first { $0.grantType == "password" }?.scope
                #expect((scope ?? "").split(separator: " ").map(String.init).sorted() == row.scopes, "\(row)")
            }
            #expect(try await account("refresh").exitCode == 0)
        }
    }

    @Test func `Advises how to obtain a refresh token if the service issued none`() async throws {
        try await run("offline-access") { server, account in
            let without = try await logIn(account, server, ["--no-default-scopes", "--scope", "openid"])
            #expect(without.errors.contains("`account login --scope offline_access`"), "\(without)")
            #expect(try await logIn(account, server, ["--scope", "offline_access"]).exitCode == 0)
            #expect(try await account("refresh").exitCode == 0)
        }
        try await run("never") { server, account in
            // The sign-in requested `offline_access`.
            let asked = try await logIn(account, server)
            #expect(asked.errors.contains("the service's settings") && !asked.errors.contains("login --"), "\(asked)")
            let browser = try await account.logIn(at: server, ["--session", "work", "--issuer", server.issuer])
            #expect(
                browser.errors.contains("`account login --session work --parameter prompt=consent`"), "\(browser)")
            // The service does not list `offline_access`.
            try await server.alter(.discovery, setting: ["scopes_supported": .list(["openid", "profile", "email"])])
            let unknown = try await logIn(account, server)
            #expect(!unknown.errors.contains("login --"), "\(unknown)")
        }
    }
}
