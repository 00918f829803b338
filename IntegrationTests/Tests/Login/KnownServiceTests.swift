@testable import EndToEndSupport
import Testing

/// Known services, each simulated by the example server with that service's quirks.
@Suite(.queued(minutes: 10))
struct KnownServiceTests {
    @Test func `Names --client-id if a known service requires a client ID`() async throws {
        try await Container.run { container in
            let outcome = try await Tool.account(in: container)("login", "--device", "--service", "github")
            #expect(outcome.exitCode == 78, "\(outcome)")
            #expect(outcome.errors.contains("--client-id"), "\(outcome)")
        }
    }

    private func signInOnDevice(
        _ account: Tool, _ server: ExampleServer, _ arguments: [String], decision: String = "approve"
    ) async throws -> Outcome {
        let login = account.command(["login", "--device"] + arguments)
        var page: String?
        return try await login.run { line in
            if let address = line.firstMatch(of: /^ +(http\S+)$/)?.output.1 { page = String(address) }
            guard let code = line.firstMatch(of: /^ +([A-Z]{4}-[A-Z]{4})$/)?.output.1 else { return }
            try await server.decide(decision, String(code), at: page)
        }
    }

    @Test(arguments: [SimulatedService.github, .githubApp, .gitlab, .google, .microsoft])
    func `Signs in with a device code, stays signed in, and signs out`(row: SimulatedService) async throws {
        try await row.run { server, container, account in
            let login = try await signInOnDevice(account, server, row.arguments(server))
            #expect(login.exitCode == 0, "\(login)")
            #expect(login.errors.hasSuffix("Signed in as alice at \(row.issuer(at: server)).\n"), "\(login)")

            let verified = try await account("whoami", "--verify", "--json")
            #expect(verified.exitCode == 0, "\(verified)")
            #expect(try verified.document().account?.id == row.id)
            #expect(try verified.document().account?.issuer == row.issuer(at: server))

            let refresh = try await account("refresh")
            #expect(refresh.exitCode == (row.refreshes ? 0 : 78), "\(refresh)")
            #expect(try await account("whoami", "--verify").output == "alice\n")

            // The service ends the session.
            try await server.endSessions()
            let ended = try await account("whoami", "--max-age", "0", "--json")
            #expect(ended.exitCode == 77, "\(ended)")
            #expect(try ended.document().reason == "sessionEnded")
            #expect(!container.exists(container.archive))

            // The next sign-in uses the remembered service.
            let again = try await signInOnDevice(account, server, [])
            #expect(again.exitCode == 0, "\(again)")
            let logout = try await account("logout", "--json")
            #expect(logout.exitCode == 0)
            let revocation = row.revokes ? "done" : "notSupported"
            #expect(logout.output.contains(#""revocation":"\#(revocation)""#), "\(logout)")
            #expect(!container.exists(container.archive))
        }
    }

    /// Expects that four concurrent commands with an expired token succeed. The caller checks that only one command
    /// refreshed.
    private func expectOneRefresh(_ account: Tool, _ server: ExampleServer) async throws {
        try await server.expireTokens()
        try await withThrowingTaskGroup { group in
            for _ in 1...4 { group.addTask { try await account("whoami", "--max-age", "0") } }
            for try await outcome in group { #expect(outcome.output == "alice\n", "\(outcome)") }
        }
    }

    @Test(arguments: [SimulatedService.githubApp, .gitlab, .google, .microsoft])
    func `Four commands refresh once, even after the service restarts`(row: SimulatedService) async throws {
        try await Container.run { container in
            var account = try Tool.account(in: container)
            for (name, value) in row.environment { account = account.with(name, value) }
            let place = ["--state", container.path("state.json"), "--port", String(try FreePort.find())]
            try await ExampleServer.run(row.serverOptions + place) { server in
                let login = try await signInOnDevice(account, server, row.arguments(server))
                try #require(login.exitCode == 0, "\(login)")
                try await expectOneRefresh(account, server)
                #expect(try await server.log()["refreshes"] == 1)
            }
            #expect(try await account("whoami", "--max-age", "0").output == "alice\n")
            try await ExampleServer.run(row.serverOptions + place) { server in
                #expect(try await account("whoami", "--verify").output == "alice\n")
                try await expectOneRefresh(account, server)
                #expect(try await server.log()["refreshes"] == 1)
                #expect(try await server.log()["reuseAlarms"] == 0)
            }
        }
    }

    @Test(arguments: [SimulatedService.github, .gitlab, .google, .microsoft])
    func `Denying the device sign-in signs no user in`(row: SimulatedService) async throws {
        try await row.run { server, container, account in
            let login = try await signInOnDevice(account, server, row.arguments(server), decision: "deny")
            #expect(login.exitCode == 77, "\(login)")
            #expect(login.errors.contains("access_denied"), "\(login)")
            #expect(!container.exists(container.archive))
        }
    }

    @Test func `Reports that GitHub does not support sign-in with a browser`() async throws {
        try await SimulatedService.github.run { server, _, account in
            let outcome = try await account.run(["login", "--web"] + SimulatedService.github.arguments(server))
            #expect(outcome.exitCode == 78, "\(outcome)")
            #expect(outcome.errors.contains("does not support sign-in with a browser"), "\(outcome)")
        }
    }

    @Test func `Accepts a personal access token without a client ID`() async throws {
        try await SimulatedService.github.run { server, _, account in
            // This token takes the place of a personal access token.
            _ = try await signInOnDevice(account, server, SimulatedService.github.arguments(server))
            let token = try await account.storedToken()
            let outcome = try await account.run(
                ["login", "--with-token", "--service", "github", "--issuer", server.issuer, "--session", "other"],
                input: token + "\n")
            #expect(outcome.exitCode == 0, "\(outcome)")
            #expect(try await account("whoami", "--verify", "--session", "other").output == "alice\n")
        }
    }

    @Test func `Shows the registration page if a known service requires a client ID`() async throws {
        try await Container.run { container in
            let account = try Tool.account(in: container)
            let outcome = try await account("login", "--device", "--service", "github")
            #expect(outcome.exitCode == 78, "\(outcome)")
            #expect(outcome.errors.contains("https://github.com/settings/developers"), "\(outcome)")
        }
    }

    @Test func `Rejects an unknown service and lists the known services`() async throws {
        try await Container.run { container in
            let account = try Tool.account(in: container)
            let outcome = try await account("login", "--device", "--service", "githob")
            #expect(outcome.exitCode == 64, "\(outcome)")
            #expect(outcome.errors.contains("github, gitlab, google, microsoft"), "\(outcome)")
        }
    }
}
