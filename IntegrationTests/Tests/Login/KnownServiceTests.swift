@testable import EndToEndSupport
import Testing

/// Known services, each simulated by the example server with that service's differences. The unit tests in
/// `KnownServiceTests` of AccountHTTP test the differences that do not decide whether a sign-in succeeds.
@Suite(.queued(minutes: 10))
struct KnownServiceTests {
    /// A service and its expected behavior.
    struct Row: CustomTestStringConvertible, Sendable {
        let name: String
        /// The path of the issuer, after the server's origin.
        var path = ""
        var id = "u-5f0c2a9b7d314e86"
        var environment: [String: String] = [:]
        /// Whether the service issues a refresh token.
        var refreshes = true
        /// Whether the service supports revocation.
        var revokes = true

        var testDescription: String { imitated ?? name }

        /// The name of the service at the server, if it differs.
        var imitated: String?

        var serverOptions: [String] { ["--service", imitated ?? name, "--device-interval", "1"] }

        func issuer(at server: ExampleServer) -> String { server.issuer + path }

        func arguments(_ server: ExampleServer) -> [String] {
            ["--service", name, "--issuer", issuer(at: server), "--client-id", "account-cli"]
        }
    }

    static let github = Row(name: "github", id: "583231", refreshes: false, revokes: false)
    static let githubApp = Row(name: "github", id: "583231", revokes: false, imitated: "github-app")
    static let gitlab = Row(name: "gitlab", id: "1001")
    static let google = Row(name: "google", environment: ["ACCOUNT_CLIENT_SECRET": "account-secret"])
    /// The name that earlier versions stored with sessions.
    static let microsoft = Row(name: "microsoft", path: "/common/v2.0", revokes: false, imitated: "entra")

    private func run(_ row: Row, _ test: (ExampleServer, Container, Tool) async throws -> Void) async throws {
        try await Container.run { container in
            try await ExampleServer.run(row.serverOptions) { server in
                var account = try Tool.account(in: container)
                for (name, value) in row.environment { account = account.with(name, value) }
                try await test(server, container, account)
            }
        }
    }

    private func signInOnDevice(
        _ account: Tool, _ server: ExampleServer, _ arguments: [String]
    ) async throws -> Outcome {
        let login = account.command(["login", "--device"] + arguments)
        var page: String?
        return try await login.run { line in
            if let address = line.firstMatch(of: /^ +(http\S+)$/)?.output.1 { page = String(address) }
            guard let code = line.firstMatch(of: /^ +([A-Z]{4}-[A-Z]{4})$/)?.output.1 else { return }
            try await server.decide("approve", String(code), at: page)
        }
    }

    @Test(arguments: [github, google, microsoft])
    func `Signs in with a device code, stays signed in, and signs out`(row: Row) async throws {
        try await run(row) { server, container, account in
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

    @Test func `Four commands refresh once, even after the service restarts`() async throws {
        let row = Self.githubApp
        try await Container.run { container in
            let account = try Tool.account(in: container)
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

    @Test(arguments: [gitlab, google])
    func `Signs in with the browser and gets a refresh token`(row: Row) async throws {
        try await run(row) { server, _, account in
            let login = try await account.logIn(at: server, row.arguments(server))
            #expect(login.exitCode == 0, "\(login)")
            #expect(try await account("refresh").exitCode == 0)
            #expect(try await account("whoami", "--verify").output == "alice\n")
        }
    }

    @Test func `Signs in at GitHub with a personal access token, not with a browser`() async throws {
        try await run(Self.github) { server, _, account in
            // This token takes the place of a personal access token.
            _ = try await signInOnDevice(account, server, Self.github.arguments(server))
            let token = try await account.storedToken()
            let outcome = try await account.run(
                ["login", "--with-token", "--service", "github", "--issuer", server.issuer, "--session", "other"],
                input: token + "\n")
            #expect(outcome.exitCode == 0, "\(outcome)")
            #expect(try await account("whoami", "--verify", "--session", "other").output == "alice\n")

            let browser = try await account.run(["login", "--web"] + Self.github.arguments(server))
            #expect(browser.exitCode == 78, "\(browser)")
            #expect(browser.errors.contains("does not support sign-in with a browser"), "\(browser)")
        }
    }

    @Test func `Shows the registration page of a known service, and lists the services`() async throws {
        try await Container.run { container in
            let account = try Tool.account(in: container)
            let outcome = try await account("login", "--device", "--service", "github")
            #expect(outcome.exitCode == 78, "\(outcome)")
            #expect(outcome.errors.contains("--client-id"), "\(outcome)")
            #expect(outcome.errors.contains("https://github.com/settings/developers"), "\(outcome)")
            let unknown = try await account("login", "--device", "--service", "githob")
            #expect(unknown.exitCode == 64, "\(unknown)")
            #expect(unknown.errors.contains("github, gitlab, gitea, google, entra, auth0"), "\(unknown)")
        }
    }
}
