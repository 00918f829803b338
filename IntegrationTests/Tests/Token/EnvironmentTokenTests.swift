@testable import EndToEndSupport
import Testing

/// A token in `ACCOUNT_TOKEN`, which commands use instead of the archive. `GivenTokenTests` tests every response of the
/// service.
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

            let empty = try await account.with("ACCOUNT_TOKEN", "")("whoami", "--offline")
            #expect(empty.output == "alice\n")

            // `status` does not ask the service.
            try await user.server.clearLog()
            let status = try await account("status")
            #expect(status.exitCode == 0, "\(status)")
            #expect(status.output.contains("ACCOUNT_TOKEN=set (used instead of the archive)"), "\(status)")
            #expect(!status.output.contains("alice") && !status.output.contains(token), "\(status)")
            #expect(status.output.contains("Signed in   with the token in ACCOUNT_TOKEN"), "\(status)")
            #expect(status.output.contains("`account whoami`"), "\(status)")
            #expect(status.output.contains("Service     \(user.server.issuer)\n"), "\(status)")
            #expect(!status.output.contains("Confirmed"), "\(status)")
            let state = try await account("status", "--json").document()
            #expect(state.source == "ACCOUNT_TOKEN" && state.state == "unverified")
            #expect(state.account == nil && state.expiresAt == nil && state.verifiedAt == nil)
            #expect(try await user.server.log().requests == [])
        }
    }

    @Test func `Commands that change the archive fail while ACCOUNT_TOKEN is set`() async throws {
        try await run { user, account, _ in
            for arguments in [["login", "--with-token"], ["logout"], ["refresh"]] {
                let outcome = try await account.run(arguments, input: "token\n")
                #expect(outcome.exitCode == 64, "\(outcome)")
                #expect(outcome.output == "")
                #expect(outcome.errors.contains("ACCOUNT_TOKEN is set"))
                #expect(outcome.errors.contains("Unset it"))
            }
            #expect(try await user.server.log().requests == [])
        }
    }

    @Test func `Reports a rejected ACCOUNT_TOKEN and keeps the stored session`() async throws {
        try await run { user, account, _ in
            for token in ["at_made_up", "line\nend"] {
                let outcome = try await account.with("ACCOUNT_TOKEN", token)("whoami")
                #expect(outcome.output == "")
                #expect(!outcome.errors.contains(token))
                #expect(outcome.exitCode == 77)
                #expect(outcome.errors.contains("ACCOUNT_TOKEN"))
            }
            // Without the service, the user of a token is unknown.
            let offline = try await account("whoami", "--offline")
            #expect(offline.exitCode == 69 && offline.output == "", "\(offline)")
            try await user.server.setFaults(Fault(path: "*", status: 503))
            let trouble = try await account("whoami")
            #expect(trouble.exitCode == 69 && trouble.output == "", "\(trouble)")
        }
    }

    @Test func `token prints ACCOUNT_TOKEN without an archive`() async throws {
        try await Container.run { container in
            let account = try Tool.account(in: container).with("ACCOUNT_TOKEN", "from-elsewhere")
            let outcome = try await account("token")
            #expect(outcome.exitCode == 0)
            #expect(outcome.output == "from-elsewhere\n")
            #expect(!container.exists(container.home))
            let status = try await account("status")
            #expect(status.exitCode == 0 && status.output.contains("the token in ACCOUNT_TOKEN"), "\(status)")
            let unknown = try await account("whoami")
            #expect(unknown.exitCode == 64)
            // `whoami` has no --issuer.
            #expect(unknown.errors.contains("ACCOUNT_TOKEN"), "\(unknown)")
            #expect(!unknown.errors.contains("add --issuer"), "\(unknown)")
        }
    }
}
