@testable import EndToEndSupport
import Testing

/// Values as other programs and services write them. `SurroundingSpaceTests`, `JSONMeaningTests` and
/// `ClientAuthenticationTests` contain the tables.
@Suite(.queued)
struct ForeignValuesTests {
    private static let secret = "s~cret/+==%"

    @Test func `Signs in with values that other programs and services wrote`() async throws {
        try await Container.run { container in
            try await ExampleServer.run(["--client-secret", Self.secret]) { server in
                try await server.alter(
                    .token,
                    setting: [
                        "expires_in": .text(" 3599.9 "), "scope": .list(["openid", "profile"]),
                    ])
                try await server.alter(.idToken, setting: ["aud": .list(["account-cli", "another-api"])])
                try await server.alter(
                    .userInfo, setting: ["email_verified": .text("true"), "updated_at": .text("1311280970")])
                let account = try Tool.account(in: container).with("ACCOUNT_CLIENT_SECRET", " \(Self.secret)\r\n")
                let login = try await account(
                    "login", "--issuer", server.issuer + "\r", "--username", "alice", "--password-stdin",
                    input: "\u{FEFF}\(ExampleServer.alicePassword)\r\n")
                #expect(login.exitCode == 0, "\(login)")
                let state = try await account("whoami", "--verify", "--json").document()
                #expect(state.expiresAt != nil)
                #expect(state.account?.profile?["email_verified"] == .boolean(true))
                #expect(state.account?.profile?["updated_at"] == .integer(1_311_280_970))

                let token = try await account.storedToken()
                for (session, value) in [
                    ("one", "\(token)\n"), ("two", " \(token)\r\n"), ("three", "\u{FEFF}\(token)"),
                ] {
                    let printed = try await account.with("ACCOUNT_TOKEN", value)("token")
                    #expect(printed.output == token + "\n", "\(printed)")
                    let input = "\r\n\(value)\n"
                    let again = try await account(
                        "login", "--session", session, "--issuer", server.issuer, "--with-token", input: input)
                    #expect(again.exitCode == 0, "\(again)")
                }
                #expect(try await account.with("ACCOUNT_SESSION", "two\r\n")("token").output == token + "\n")
            }
        }
    }

    @Test func `A program that reports a refused token gets a new one without a known expiry`() async throws {
        try await Container.run { container in
            try await ExampleServer.run { server in
                try await server.alter(.token, omitting: ["expires_in"])
                let user = SignedInUser(server: server, container: container, account: try .account(in: container))
                try await user.signIn()
                let account = user.account
                for url in ["https://ghcr.io", "https://git.example.com"] {
                    #expect(try await account("rule", "add", url, "--session", "default").exitCode == 0)
                }
                let first = try await account.storedToken()
                #expect(try await account("token", "--min-validity", "86400").output == first + "\n")

                let erased = try await account("docker-credential", "erase", input: "ghcr.io\r\n")
                #expect(erased.exitCode == 0, "\(erased)")
                let docker = try await account("docker-credential", "get", input: "ghcr.io")
                let second = try await account.storedToken()
                #expect(second != first && docker.output.contains(second), "\(docker)")

                let question = "protocol=https\nhost=git.example.com\n"
                #expect(
                    try await account("git-credential", "erase", input: question + "password=\(second)\n\n").exitCode
                        == 0)
                let git = try await account("git-credential", "get", input: question + "\n")
                let third = try await account.storedToken()
                #expect(third != second && git.output.contains("password=\(third)\n"), "\(git)")
            }
        }
    }
}
