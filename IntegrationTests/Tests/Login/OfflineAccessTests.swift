@testable import EndToEndSupport
import Testing

/// A service that issues refresh tokens only to clients that request `offline_access`.
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

    @Test func `Requests offline_access if the service offers this scope`() async throws {
        try await run("offline-access") { server, account in
            let ways = [
                try await logIn(account, server),
                try await account.logInOnDevice(at: server, ["--issuer", server.issuer]),
                try await account.logIn(at: server, ["--issuer", server.issuer]),
            ]
            for login in ways { #expect(login.exitCode == 0, "\(login)") }
            let asked = try await server.log().requests.filter {
                ["/oauth/authorize", "/oauth/device_authorization"].contains($0.path) || $0.grantType == "password"
            }.compactMap(\.scope)
            #expect(asked.count == 3)
            for scope in asked { #expect(scope.split(separator: " ").contains("offline_access"), "\(scope)") }
            #expect(try await account("refresh").exitCode == 0)
        }
    }

    @Test func `Omits offline_access if the service or the options exclude it`() async throws {
        try await run("always") { server, account in
            try await server.alter(
                .discovery, setting: ["scopes_supported": .list(["openid", "profile", "email"])])
            #expect(try await logIn(account, server).exitCode == 0)
            try await server.alter(.discovery)
            #expect(
                try await logIn(account, server, ["--no-default-scopes", "--scope", "openid", "--scope", "profile"])
                    .exitCode == 0)
            for request in try await server.log().requests {
                #expect(request.scope?.contains("offline_access") != true, "\(request)")
            }
        }
    }

    @Test func `--scope adds to the default scopes unless they are disabled`() async throws {
        let defaults = ["email", "offline_access", "openid", "profile"]
        let withPhone = (defaults + ["phone"]).sorted()
        let rows: [(options: [String], scopes: [String])] = [
            ([], defaults), (["--scope", "phone"], withPhone),
            // The session remembers the scopes.
            ([], withPhone), (["--scope", "offline_access"], defaults),
            (["--no-default-scopes", "--scope", "openid"], ["openid"]), ([], ["openid"]),
            (["--default-scopes"], defaults),
        ]
        try await run("offline-access") { server, account in
            for row in rows {
                try await server.clearLog()
                let login = try await logIn(account, server, row.options)
                #expect(login.exitCode == 0, "\(login)")
                let scope = try await server.log().requests.first { $0.grantType == "password" }?.scope
                #expect((scope ?? "").split(separator: " ").map(String.init).sorted() == row.scopes, "\(row)")
            }
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

    @Test func `login prints the expiry if there is no refresh token`() async throws {
        try await run("never") { server, account in
            let login = try await logIn(account, server)
            #expect(login.exitCode == 0, "\(login)")
            #expect(login.errors.contains(/until .*\d\d:\d\d/), "\(login)")
            let status = try await account("status")
            #expect(!status.output.contains("refreshed at the next use"), "\(status)")
        }
    }
}
