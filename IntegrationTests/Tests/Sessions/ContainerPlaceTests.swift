@testable import EndToEndSupport
import Testing

/// The location of each file when `ACCOUNT_HOME` is not set. `AppContainerTests` has the tables of locations.
@Suite(.queued)
struct ContainerPlaceTests {
    /// Runs a test with alice signed in, with the given environment variables.
    private func run(
        _ variables: (Container) -> [String: String],
        _ test: (_ account: Tool, _ container: Container) async throws -> Void
    ) async throws {
        try await Container.run { container in
            try await ExampleServer.run { server in
                var account = try Tool.account(in: container).with("ACCOUNT_HOME", nil)
                account.environment.merge(variables(container)) { $1 }
                let login = try await account(
                    "login", "--issuer", server.issuer, "--username", "alice", "--password-stdin",
                    input: ExampleServer.alicePassword + "\n")
                try #require(login.exitCode == 0, "\(login)")
                try await test(account, container)
                #expect(try await account("whoami").output == "alice\n")
            }
        }
    }

    @Test func `Stores archive, key and settings in the default XDG folders`() async throws {
        try await run({ _ in [:] }) { _, container in
            let user = container.root + "/user"
            #expect(container.exists(user + "/.local/share/account/Documents/Account.plist"))
            #expect(container.exists(user + "/.local/state/account/Account.key"))
            #expect(container.exists(user + "/.config/account/Sessions/default/Service.plist"))
        }
    }

    @Test func `Uses absolute paths in XDG variables and ignores relative paths`() async throws {
        let variables = { (container: Container) in
            [
                "XDG_DATA_HOME": container.path("data"), "XDG_STATE_HOME": container.path("state"),
                "XDG_CONFIG_HOME": "relative",
            ]
        }
        try await run(variables) { _, container in
            #expect(container.exists(container.path("data/account/Documents/Account.plist")))
            #expect(container.exists(container.path("state/account/Account.key")))
            #expect(container.exists(container.root + "/user/.config/account/Sessions/default/Service.plist"))
        }
    }

    @Test func `Without a home directory, names the variables to set`() async throws {
        try await Container.run { container in
            let account = try Tool.account(in: container).with("ACCOUNT_HOME", nil).with("HOME", "relative")
            // A user ID without an entry in the user database has no home directory other than `HOME`.
            let nobody = account.command(["whoami"]).run(by: "unshare", "--map-user=54321")
            let outcome = try await nobody.run()
            #expect(outcome.exitCode == 64, "\(outcome)")
            #expect(outcome.errors.contains("Set HOME"))
        }
    }
}
