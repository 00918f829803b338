@testable import EndToEndSupport
import Testing

/// A token in `ACCOUNT_TOKEN`, which commands use instead of the archive.
@Suite(.queued)
struct EnvironmentTokenTests {
    /// Runs a test with alice's session in the archive and bob's token in the environment.
    private func run(_ test: (_ user: SignedInUser, _ account: Tool, _ token: String) async throws -> Void) async throws
    {
        try await SignedInUser.run { user in
            let token = try await user.server.issueToken(username: "bob", password: ExampleServer.bobPassword)
            try await user.server.clearLog()
            let before = try user.container.contents()
            try await test(user, user.account.with("ACCOUNT_TOKEN", token), token)
            // No command stores the token, and alice's session is unchanged.
            #expect(try user.container.contents() == before)
            #expect(try await user.account("whoami", "--offline").output == "alice\n")
        }
    }

    @Test func `Uses ACCOUNT_TOKEN instead of the archive and reports the source`() async throws {
        try await run { user, account, token in
            let text = try await account("whoami")
            #expect(text.exitCode == 0)
            #expect(text.output == "bob\n")
            #expect(text.errors.contains("ACCOUNT_TOKEN"))

            let report = try await account("whoami", "--json").document()
            #expect(report.source == "ACCOUNT_TOKEN")
            #expect(report.account?.username == "bob")
            #expect(report.state == "verified")

            let printed = try await account("token")
            #expect(printed.output == token + "\n")
            struct Document: Decodable { let token: String, source: String }
            let document = try await account("token", "--json").document(Document.self)
            #expect(document.token == token)
            #expect(document.source == "ACCOUNT_TOKEN")

            let status = try await account("status")
            #expect(status.output.contains("ACCOUNT_TOKEN=set (used instead of the archive)"))
            #expect(!status.output.contains(token))
            #expect(try await account("status", "--json").document().source == "ACCOUNT_TOKEN")
        }
    }

    @Test func `status describes ACCOUNT_TOKEN instead of the archive's user`() async throws {
        try await run { user, account, token in
            let text = try await account("status")
            #expect(text.exitCode == 0, "\(text)")
            #expect(!text.output.contains("alice") && !text.output.contains(token), "\(text)")
            #expect(text.output.contains("Signed in   with the token in ACCOUNT_TOKEN"), "\(text)")
            #expect(text.output.contains("`account whoami`"), "\(text)")
            #expect(text.output.contains("Service     \(user.server.issuer)\n"), "\(text)")
            #expect(!text.output.contains("Confirmed"), "\(text)")
            let report = try await account("status", "--json").document()
            #expect(report.source == "ACCOUNT_TOKEN" && report.state == "unverified")
            #expect(report.account == nil && report.expiresAt == nil && report.verifiedAt == nil)
            #expect(try await user.server.log().requests == [])
        }
        // Commands also use the token if no user is signed in.
        try await Container.run { container in
            let outcome = try await Tool.account(in: container).with("ACCOUNT_TOKEN", "abc")("status")
            #expect(outcome.exitCode == 0 && outcome.output.contains("the token in ACCOUNT_TOKEN"), "\(outcome)")
        }
    }

    @Test(arguments: [["login", "--with-token"], ["logout"], ["logout", "--all"], ["refresh"]])
    func `Commands that change the archive fail while ACCOUNT_TOKEN is set`(arguments: [String]) async throws {
        try await run { user, account, _ in
            let outcome = try await account.run(arguments, input: "token\n")
            #expect(outcome.exitCode == 64)
            #expect(outcome.output == "")
            #expect(outcome.errors.contains("ACCOUNT_TOKEN is set"))
            #expect(outcome.errors.contains("Unset it"))
            #expect(try await user.server.log().requests == [])
        }
    }

    @Test func `Reports a rejected ACCOUNT_TOKEN and keeps the stored session`() async throws {
        try await run { user, account, _ in
            for token in ["at_made_up", "two words", "line\nend"] {
                let outcome = try await account.with("ACCOUNT_TOKEN", token)("whoami")
                #expect(outcome.output == "")
                #expect(!outcome.errors.contains(token))
                #expect(outcome.exitCode == 77)
                #expect(outcome.errors.contains("ACCOUNT_TOKEN"))
            }
        }
    }

    @Test func `Shows no user if the service cannot identify the user of ACCOUNT_TOKEN`() async throws {
        try await run { user, account, _ in
            let offline = try await account("whoami", "--offline")
            #expect(offline.exitCode == 69)
            #expect(offline.output == "")
            try await user.server.setFaults(Fault(path: "*", status: 503))
            let trouble = try await account("whoami")
            #expect(trouble.output == "")
            try await user.server.setFaults(Fault(path: "*", status: 404))
            let elsewhere = try await account("whoami")
            #expect(trouble.exitCode == 69)
            #expect(elsewhere.exitCode == 78)
        }
    }

    @Test func `Ignores an empty ACCOUNT_TOKEN`() async throws {
        try await run { _, account, _ in
            let outcome = try await account.with("ACCOUNT_TOKEN", "")("whoami", "--offline")
            #expect(outcome.output == "alice\n")
        }
    }

    @Test func `token prints ACCOUNT_TOKEN without an archive`() async throws {
        try await Container.run { container in
            let account = try Tool.account(in: container).with("ACCOUNT_TOKEN", "from-elsewhere")
            let outcome = try await account("token")
            #expect(outcome.exitCode == 0)
            #expect(outcome.output == "from-elsewhere\n")
            #expect(!container.exists(container.home))
        }
    }

    @Test func `Fails with a hint if the service of ACCOUNT_TOKEN is unknown`() async throws {
        try await Container.run { container in
            let account = try Tool.account(in: container).with("ACCOUNT_TOKEN", "from-elsewhere")
            let outcome = try await account("whoami")
            #expect(outcome.exitCode == 64)
            // `whoami` has no --issuer.
            #expect(outcome.errors.contains("ACCOUNT_TOKEN"), "\(outcome)")
            #expect(!outcome.errors.contains("add --issuer"), "\(outcome)")
        }
    }
}
