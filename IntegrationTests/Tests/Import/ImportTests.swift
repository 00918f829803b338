@testable import EndToEndSupport
import Foundation
import Testing

/// `account import`, which reads the archive of an older app. The tests of AccountImport have the tables of formats.
@Suite(.queued)
struct ImportTests {
    private static let token = "canary-5d41402abc4b2a76b9719d911017c592"

    /// Runs a test with an archive in the layout of NSKeyedArchiver.
    private func run(
        _ test: (_ account: Tool, _ container: Container, _ file: String) async throws -> Void
    ) async throws {
        try await Container.run { container in
            let file = container.path("old archive.plist")
            try await write("binary", to: file)
            try await test(try .account(in: container), container, file)
        }
    }

    private func write(_ format: String, to file: String) async throws {
        let made = try await Command(
            words: ["python3", "-B", BuiltProducts.fixture("legacy_archive.py"), format, Self.token, file]
        ).run()
        guard made.exitCode == 0 else { throw Unexpected(made) }
    }

    @Test func `Imports the account of a keyed archive and keeps the file`() async throws {
        try await run { account, container, file in
            let before = try container.entry(file)
            let outcome = try await account("import", file, "--issuer", "https://nobody.invalid")
            #expect(outcome.exitCode == 0, "\(outcome)")
            #expect(outcome.output == "")
            #expect(outcome.errors.contains("Imported wang from \(file)."))
            #expect(!outcome.errors.contains(Self.token))
            #expect(try container.entry(file) == before)

            let report = try await account("whoami", "--offline", "--json").document()
            #expect(report.account?.username == "wang")
            #expect(report.account?.id == "8")
            #expect(report.account?.issuer == "https://nobody.invalid")
            #expect(report.account?.profile?["nickname"] == .text("老王 👋"))
            #expect(report.account?.profile?["points"] == .integer(1350))
            #expect(try await account.storedToken() == Self.token)
            let archive = Data(try #require(try container.entry(container.archive)).bytes)
            #expect(archive.range(of: Data(Self.token.utf8)) == nil)
        }
    }

    @Test func `Checks an imported account with the service`() async throws {
        try await run { account, container, file in
            try await ExampleServer.run { server in
                _ = try await account("import", file, "--issuer", server.issuer)
                // This service did not issue the token.
                let outcome = try await account("whoami")
                #expect(outcome.exitCode == 77)
                #expect(outcome.errors.contains("ended this session"))
                #expect(container.exists(file))
            }
        }
    }

    @Test func `--remove-original removes the file`() async throws {
        try await run { account, container, file in
            try await write("xml", to: file)
            let outcome = try await account("import", file, "--remove-original", "--json")
            #expect(outcome.exitCode == 0)
            #expect(try outcome.document().account?.username == "wang")
            #expect(!outcome.output.contains(Self.token))
            #expect(!container.exists(file))
            #expect(try await account("whoami", "--offline").output == "wang\n")

            let logout = try await account("logout")
            #expect(logout.exitCode == 0)
            #expect(logout.errors.contains("the service is not notified of this sign-out"), "\(logout)")
            #expect(!container.exists(container.archive))
        }
    }

    @Test func `Importing replaces a session only with --replace`() async throws {
        try await run { account, container, file in
            try await ExampleServer.run(ExampleServer.eachTokenByItself) { server in
                try await SignedInUser(server: server, container: container, account: account).signIn()
                let before = try container.entry(container.archive)
                let refused = try await account("import", file)
                #expect(refused.exitCode == 64)
                #expect(refused.errors.contains("alice is signed in"))
                #expect(refused.errors.contains("--replace"))
                let own = try await account("import", container.archive, "--session", "old")
                #expect(own.exitCode == 64)
                #expect(own.errors.contains("already an account archive of this program"))
                #expect(try container.entry(container.archive) == before)

                #expect(try await account("import", file, "--session", "old").exitCode == 0)
                #expect(try await account("whoami", "--offline", "--session", "old").output == "wang\n")
                #expect(try await account("import", file, "--replace").exitCode == 0)
                #expect(try await account("whoami", "--offline").output == "wang\n")
                // AccountKit revokes the tokens of the replaced session.
                #expect(try await server.liveTokens(of: "alice") == [])
            }
        }
    }

    @Test func `Rejects a file without an account, and changes nothing`() async throws {
        try await run { account, container, file in
            for format in ["truncated", "no-token", "not-an-archive"] {
                try await write(format, to: file)
                let before = try container.entry(file)
                let outcome = try await account("import", file, "--remove-original")
                #expect([64, 65].contains(outcome.exitCode), "\(outcome)")
                #expect(outcome.output == "")
                #expect(outcome.errors.contains("\(file) cannot be imported."))
                #expect(!outcome.errors.contains(Self.token))
                #expect(try container.entry(file) == before)
            }
            let missing = try await account("import", container.path("nothing"))
            #expect(missing.exitCode == 74 && missing.errors.contains(container.path("nothing")), "\(missing)")
            #expect(!container.exists(container.home))
        }
    }
}
