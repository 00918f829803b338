@testable import EndToEndSupport
import Testing

/// The command reports invalid issuers and malformed responses, sends no password, and keeps the session. The tables
/// are in `IssuerTests`, `DiscoveryTests` and `TokenResponseTests`.
@Suite(.queued)
struct BadServiceTests {
    @Test func `login rejects an unsafe issuer with the reason and stores nothing`() async throws {
        try await Container.run { container in
            let account = try Tool.account(in: container)
            for (issuer, word) in [
                ("auth.example.com", "did you mean https://auth.example.com?"),
                ("http://auth.example.com", "not encrypted"), ("https://alice:hunter2@example.com", "user name"),
            ] {
                let outcome = try await account(
                    "login", "--issuer=\(issuer)", "--username", "alice", "--password-stdin", input: "secret\n")
                #expect(outcome.exitCode == 64, "\(outcome)")
                #expect(outcome.output == "")
                #expect(outcome.errors.contains(word), "\(outcome)")
                #expect(!outcome.errors.contains("hunter2"))
            }
            #expect(!container.exists(container.home))
        }
    }

    /// Changes to a discovery document, the reason of a sign-in that reads it, and the reason of a check.
    private static let documents: [(members: [String: JSON], word: String, reason: String?)] = [
        (["issuer": .text("https://evil.example")], "for another issuer, https://evil.example", "misconfigured"),
        (["token_endpoint": .integer(17)], "token_endpoint is not a string", nil),
        (["token_endpoint": .text("http://evil.example/token")], "token_endpoint is not encrypted", nil),
    ]

    @Test func `Sends no password when the discovery document is invalid`() async throws {
        try await SignedInUser.run { user in
            let before = try user.container.files()
            let login = ["login", "--username", "bob", "--password-stdin"]
            for document in Self.documents {
                try await user.server.alter(.discovery, setting: document.members)
                let outcome = try await user.account.run(login, input: ExampleServer.bobPassword + "\n")
                #expect(outcome.exitCode == 78, "\(outcome)")
                #expect(outcome.errors.contains(document.word), "\(outcome)")
                guard let reason = document.reason else { continue }
                let check = try await user.account("whoami", "--max-age", "0", "--json")
                #expect(check.exitCode == 0, "\(check)")
                #expect(try check.document().reason == reason)
            }
            #expect(try user.container.files() == before)
            #expect(try await user.server.log()["/oauth/token"] == 0)

            // A check or a refresh ignores a member that it does not need.
            try await user.server.alter(.discovery, omitting: ["token_endpoint"])
            #expect(try await user.account("whoami", "--max-age", "0", "--json").document().state == "verified")
            for name in ["userinfo_endpoint", "revocation_endpoint", "device_authorization_endpoint"] {
                try await user.server.alter(.discovery, setting: [name: .text("")])
                #expect(try await user.account("refresh").exitCode == 0)
                try await user.server.alter(.discovery, setting: [name: .text("/relative")])
                #expect(try await user.account("refresh").exitCode == 0)
            }
        }
    }

    @Test func `An unusable token response leaves the session unchanged`() async throws {
        try await SignedInUser.run { user in
            let before = try user.container.files()
            let login = ["login", "--username", "bob", "--password-stdin"]
            for (member, value, word) in [
                ("access_token", "a\r\nX: y", "characters"), ("token_type", "\u{1b}[2J Hawk", "unsupported type"),
            ] {
                try await user.server.alter(.token, setting: [member: .text(value)])
                let outcome = try await user.account.run(login, input: ExampleServer.bobPassword + "\n")
                #expect(outcome.exitCode == 69, "\(outcome)")
                #expect(outcome.output == "")
                #expect(outcome.errors.contains(word), "\(outcome)")
                #expect(!outcome.errors.contains("\u{1b}"))
            }
            #expect(try user.container.files() == before)
            #expect(try await user.account("whoami", "--offline").output == "alice\n")
        }
    }

    @Test func `Signs in when optional members of a token response are malformed`() async throws {
        try await Container.run { container in
            try await ExampleServer.run { server in
                let user = SignedInUser(server: server, container: container, account: try .account(in: container))
                try await server.alter(
                    .token,
                    setting: ["expires_in": .integer(-5), "scope": .integer(5), "id_token": .text("not.a.jwt")])
                try await user.signIn()
                // An invalid expiry means that the expiry is unknown, and not that the token has expired.
                #expect(try await user.account("status").output.contains("Expires     unknown\n"))
                #expect(try await user.account("token", "--min-validity", "86400").exitCode == 0)
                #expect(try await user.account("whoami", "--verify").output == "alice\n")
                #expect(try await server.log()["refreshes"] == 0)
                #expect(try await user.account("refresh").exitCode == 0)
            }
        }
    }
}
