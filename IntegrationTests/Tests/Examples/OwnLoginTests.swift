@testable import EndToEndSupport
import Testing

/// `embed-login`, which has the same commands for a service that does not support OAuth. `ApplicationTests` has the rules
/// for names, help and variables of an app.
@Suite(.queued)
struct OwnLoginTests {
    /// Runs a test with alice signed in to the notes service.
    private func run<Result: Sendable>(
        _ test: (_ notes: Tool, _ container: Container, _ server: ExampleServer) async throws -> Result
    ) async throws -> Result {
        try await Container.run { container in
            try await ExampleServer.run { server in
                var environment = container.environment
                environment["ACCOUNT_HOME"] = nil
                environment["NOTES_HOME"] = container.home
                environment["NOTES_SERVER"] = server.issuer
                let notes = Tool(path: try BuiltProducts.path(of: "embed-login"), environment: environment)
                let login = try await notes(
                    "account", "login", "--username", "alice", "--password-stdin",
                    input: ExampleServer.alicePassword + "\n")
                try #require(login.exitCode == 0, "\(login)")
                #expect(login.errors == "Signed in as alice.\n")
                try await server.clearLog()
                return try await test(notes, container, server)
            }
        }
    }

    @Test func `embed-login greets the user, even offline, until the service ends the session`() async throws {
        try await run { notes, container, server in
            #expect(try await notes().output == "Hello alice, you have 1250 points.\n")
            #expect(try await notes("account", "whoami", "--verify").output == "alice\n")
            #expect(try await server.log()["/userinfo"] == 2)
            let before = try container.entry(container.archive)
            let login = try await notes("account", "login", "--username", "bob", "--password-stdin", input: "wrong\n")
            #expect(login.exitCode == 77 && login.errors.contains("wrong password"), "\(login)")
            #expect(try container.entry(container.archive) == before)

            let offline = try await notes.with("NOTES_SERVER", "http://127.0.0.1:1")()
            #expect(offline.exitCode == 0 && offline.output.hasPrefix("Hello alice. (offline"), "\(offline)")
            try await server.setFaults(Fault(path: "/userinfo", status: 500))
            let trouble = try await notes()
            #expect(trouble.exitCode == 0 && trouble.output.hasPrefix("Hello alice. (server error"), "\(trouble)")
            #expect(container.exists(container.archive))
            try await server.clearFaults()

            // The service has its own error code for a session that has ended.
            try await server.endSessions()
            let greeting = try await notes()
            #expect(greeting.exitCode == 0)
            #expect(greeting.output == "Hello stranger. Sign in with `notes account login`.\n")
            #expect(!container.exists(container.archive))
            let name = try await notes("account", "whoami")
            #expect(name.exitCode == 77)
            #expect(name.errors.contains("(session_revoked)\n  Sign in with `embed-login account login`."))
        }
    }

    @Test func `An app and its account commands use the same session, or the given token`() async throws {
        try await run { notes, container, _ in
            let login = try await notes(
                "account", "login", "--username", "bob", "--password-stdin", "--session", "work",
                input: ExampleServer.bobPassword + "\n")
            try #require(login.exitCode == 0, "\(login)")
            #expect(try await notes().output.hasPrefix("Hello alice,"))
            #expect(try await notes.with("NOTES_SESSION", "work")().output.hasPrefix("Hello bob,"))

            let token = try await notes("account", "token", "--session", "work").output.dropLast()
            let before = try container.contents()
            let given = notes.with("NOTES_TOKEN", String(token))
            #expect(try await given().output.hasPrefix("Hello bob@example.org,"))
            #expect(try await given("account", "whoami").output == "bob@example.org\n")
            #expect(try await given("account", "logout").exitCode == 64)
            let refused = try await notes.with("NOTES_TOKEN", "made-up")()
            #expect(!refused.output.contains("alice") && !refused.errors.contains("account login`"), "\(refused)")
            #expect(try container.contents() == before)

            _ = try await notes("account", "switch", "work")
            #expect(try await notes().output.hasPrefix("Hello bob,"))
            #expect(try await notes("account", "whoami").output == "bob\n")
        }
    }

    @Test func `embed-login has its own options, variables and archive`() async throws {
        try await run { notes, container, _ in
            let help = try await notes("account", "login", "--help").output
            #expect(help.contains("embed-login account login"))
            #expect(help.contains("  --password ") && !help.contains("--password-stdin"))
            #expect(try await notes("account", "help", "login", "--all").output.contains("  --password-stdin "))
            let first = try await notes("account", "--help").output
            #expect(first.contains("  login ") && !first.contains("  refresh "), "\(first)")
            #expect(first.contains("\nMore: `embed-login account help --all`\n"), "\(first)")
            for option in ["--issuer", "--client-id", "--device", "--web", "--scope", "--with-token"] {
                #expect(!help.contains(option), "\(option)")
            }
            let issuer = try await notes("account", "login", "--issuer", "https://auth.example.com")
            #expect(issuer.exitCode == 64)
            let other = notes.with("ACCOUNT_HOME", container.path("other")).with("ACCOUNT_TOKEN", "t")
                .with("ACCOUNT_SESSION", "work")
            #expect(try await other("account", "whoami", "--offline").output == "alice\n")
            #expect(!container.exists(container.path("other")))

            // Another app cannot open this app's archive.
            let account = try Tool.account(in: container)
            let stolen = try await account("whoami", "--offline", "--json")
            #expect(stolen.exitCode == 65)
            #expect(try stolen.document().reason == "wrongKeyOrDamaged")

            // The user of an archive that does not open is not a stranger.
            try container.write([0], to: container.archive)
            let damaged = try await notes()
            #expect(damaged.exitCode == 65 && damaged.output.isEmpty, "\(damaged)")
        }
    }
}
