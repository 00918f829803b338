@testable import EndToEndSupport
import Foundation
import Testing

/// Tokens for other APIs, with the real command. `DerivationFlowTests`, `DerivedTokenTests` of AccountKit and
/// `TokenDerivationTests` test each response, the cache and each way to obtain a token.
@Suite(.queued)
struct DerivedTokenTests {
    private static let resources = ["https://a.example/", "urn:b"]

    /// Signs alice in for two resources, at a server that exchanges tokens for one audience.
    private func run(
        _ options: [String] = [], _ test: (SignedInUser) async throws -> Void
    ) async throws {
        try await Container.run { container in
            try await ExampleServer.run(["--exchange-audience", "api"] + options) { server in
                let user = SignedInUser(server: server, container: container, account: try .account(in: container))
                let words = ["login", "--issuer", server.issuer, "--username", "alice", "--password-stdin"]
                let resources = Self.resources.flatMap { ["--resource", $0] }
                let login = try await user.account.run(words + resources, input: ExampleServer.alicePassword + "\n")
                try #require(login.exitCode == 0, "\(login)")
                try await server.clearLog()
                try await test(user)
            }
        }
    }

    private func token(_ user: SignedInUser, _ words: String...) async throws -> String {
        let outcome = try await user.account.run(["token"] + words)
        #expect(outcome.exitCode == 0, "\(outcome)")
        #expect(outcome.errors == "" || words.contains("--min-validity"), "\(outcome)")
        return outcome.output.trimmingCharacters(in: .newlines)
    }

    private func requests(_ user: SignedInUser) async throws -> [ExampleServer.Log.Request] {
        try await user.server.log().requests.filter { $0.path == "/oauth/token" }
    }

    // MARK: Deriving

    @Test func `Derives a resource token by one refresh and keeps the access token`() async throws {
        try await run { user in
            let own = try await user.account.storedToken()
            let derived = try await token(user, "--resource", "urn:b")
            #expect(derived != own)
            #expect(try await token(user, "--resource", "urn:b") == derived)
            #expect(try await token(user) == own)
            #expect(try await user.server.accepts(own))
            #expect(try await user.server.accepts(derived))
            #expect(try await requests(user).map(\.resource) == ["urn:b"])
            // The next refresh uses the refresh token that the service issued with the derived token.
            #expect(try await user.account("refresh").exitCode == 0)
            #expect(try await user.server.log()["reuseAlarms"] == 0)
            #expect(try await token(user, "--resource", "urn:b") == derived)

            let short = try await user.account("token", "--resource", "urn:b", "--min-validity", "999999")
            #expect(short.exitCode == 0 && short.errors.contains("--min-validity 999999"), "\(short)")
            #expect(short.output != derived + "\n")
        }
    }

    @Test func `Obtains a token for an audience by token exchange, not by a refresh`() async throws {
        try await run { user in
            let derived = try await token(user, "--audience", "api", "--scope", "openid")
            #expect(try await token(user, "--scope", "openid", "--audience", "api") == derived)
            let requests = try await requests(user)
            #expect(requests.map(\.grantType) == ["urn:ietf:params:oauth:grant-type:token-exchange"])
            #expect(requests.map(\.audience) == ["api"])
            #expect(requests.map(\.scope) == ["openid"])
            #expect(try await user.server.log()["refreshes"] == 0)

            let outcome = try await user.account("token", "--audience", "api", "--json")
            #expect(outcome.exitCode == 0, "\(outcome)")
            let document = try JSONDecoder().decode([String: String].self, from: Data(outcome.output.utf8))
            #expect(document["tokenType"] == "Bearer")
            #expect(document["session"] == "default")
            #expect(document["expiresAt"] != nil)
            #expect(document["token"] == (try await token(user, "--audience", "api")))
        }
    }

    @Test func `Caches a token with a narrower scope separately`() async throws {
        try await run { user in
            let narrow = try await token(user, "--scope", "openid email")
            #expect(try await token(user, "--scope", "email", "--scope", "openid") == narrow)
            #expect(try await token(user, "--scope", "openid") != narrow)
            // This service rejects an exchange without an audience, so AccountKit sends a refresh after each exchange.
            #expect(
                try await requests(user).map(\.scope) == [
                    "email openid", "email openid offline_access", "openid", "openid offline_access",
                ])
        }
    }

    @Test func `Twelve processes derive and refresh without spending a token twice`() async throws {
        try await run { user in
            let derived = try await withThrowingTaskGroup(of: Outcome.self) { group in
                for _ in 1...8 { group.addTask { try await user.account("token", "--resource", "urn:b") } }
                return try await group.reduce(into: Set<String>()) { tokens, outcome in
                    #expect(outcome.exitCode == 0, "\(outcome)")
                    tokens.insert(outcome.output)
                }
            }
            #expect(derived.count == 1)
            #expect(try await requests(user).count == 1)
            try await withThrowingTaskGroup { group in
                for number in 0..<12 {
                    group.addTask {
                        switch number % 3 {
                        case 0: try await user.account("refresh")
                        case 1: try await user.account("token", "--resource", "urn:b", "--min-validity", "7200")
                        default: try await user.account("token", "--audience", "api")
                        }
                    }
                }
                for try await outcome in group { #expect(outcome.exitCode == 0, "\(outcome)") }
            }
            let log = try await user.server.log()
            #expect(log["reuseAlarms"] == 0)
            #expect(log["refreshes"] == log["rotations"])
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
        }
    }

    // MARK: Refused, offline, ended

    @Test func `Keeps the session if the service refuses to issue a derived token`() async throws {
        try await run { user in
            for (words, why) in [
                (["--audience", "other"], "invalid_target"),
                (["--audience", "api", "--scope", "unheard"], "invalid_scope"),
                // AccountKit rejects the next two requests locally, since some services spend the refresh token even if
                // they refuse the request.
                (["--resource", "urn:c"], "you did not sign in for the resource urn:c"),
                (["--scope", "unheard"], "the service did not grant the scope unheard"),
            ] {
                let outcome = try await user.account.run(["token"] + words)
                #expect(outcome.exitCode == 78, "\(outcome)")
                #expect(outcome.output == "")
                #expect(outcome.errors.contains("the service does not issue this token (\(why)"), "\(outcome)")
                #expect(outcome.errors.contains("you are still signed in"))
            }
            #expect(try await user.server.log()["refreshes"] == 0)
            let json = try await user.account("token", "--resource", "urn:c", "--json")
            #expect(json.exitCode == 78)
            #expect(json.output.contains(#""code":"misconfigured""#))
            // The failure does not delay the next refresh.
            #expect(try await user.account("refresh").exitCode == 0)
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
        }
    }

    @Test func `invalid_grant for a derived token ends only a session that has ended`() async throws {
        try await run { user in
            try await user.server.setFaults(
                Fault(
                    path: "/oauth/token", status: 400, headers: ["Content-Type": "application/json"],
                    body: #"{"error":"invalid_grant","error_description":"AADSTS65001: consent is missing"}"#, times: 1)
            )
            let outcome = try await user.account("token", "--resource", "urn:b")
            #expect(outcome.exitCode == 78, "\(outcome)")
            #expect(outcome.output == "")
            #expect(outcome.errors.contains("(invalid_grant: AADSTS65001: consent is missing)"), "\(outcome)")
            // AccountKit then sent a plain refresh, which succeeded.
            let log = try await user.server.log()
            #expect(log["refreshes"] == 2 && log["rotations"] == 1 && log["reuseAlarms"] == 0, "\(log)")
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
            #expect(try await token(user, "--resource", "urn:b") != "")

            try await user.server.endSessions()
            // A failed exchange does not show whether the session has ended.
            #expect(try await user.account("token", "--audience", "api").exitCode == 78)
            #expect(try await user.account("whoami", "--offline").output == "alice\n")
            let ended = try await user.account("token", "--resource", "https://a.example/")
            #expect(ended.exitCode == 77, "\(ended)")
            #expect(try await user.account("whoami", "--offline").exitCode == 77)
        }
    }

    @Test func `Offline, prints the cached derived token`() async throws {
        try await Container.run { container in
            let account = try Tool.account(in: container)
            let token = try await ExampleServer.run { server in
                try await SignedInUser(server: server, container: container, account: account).signIn()
                return try await account("token", "--scope", "openid")
            }
            #expect(token.exitCode == 0, "\(token)")
            let cached = try await account("token", "--scope", "openid", "--min-validity", "7200")
            #expect(cached.exitCode == 0 && cached.output == token.output, "\(cached)")
            let other = try await account("token", "--scope", "email")
            #expect(other.exitCode == 69, "\(other)")
            #expect(other.errors.contains("you are still signed in"))
            #expect(try await account("whoami", "--offline").output == "alice\n")
        }
    }

    // MARK: Sign-out

    @Test func `Signing out revokes the derived tokens`() async throws {
        try await run(["--revocation-ends", "token"]) { user in
            let tokens = [try await token(user, "--resource", "urn:b"), try await token(user, "--audience", "api")]
            for token in tokens { #expect(try await user.server.accepts(token)) }
            let outcome = try await user.account("logout")
            #expect(outcome.exitCode == 0, "\(outcome)")
            for token in tokens { #expect(try await user.server.accepts(token) == false) }
            #expect(try await user.server.log()["/oauth/revoke"] == 4)
            #expect(try await user.account("token", "--audience", "api").exitCode == 77)
        }
    }

    // MARK: Usage

    @Test func `Rejects invalid targets, and those that the service does not support`() async throws {
        try await SignedInUser.run { user in
            for words in [["--resource", "here"], ["--scope", "a\"b"], ["--audience", "a", "--resource", "urn:b"]] {
                #expect(try await user.account.run(["token"] + words).exitCode == 64, "\(words)")
            }
            #expect(try await user.server.log().requests == [])
            let given = try await user.account.with("ACCOUNT_TOKEN", "given")("token", "--scope", "openid")
            #expect(given.exitCode == 64, "\(given)")
            #expect(given.errors.contains("ACCOUNT_TOKEN"))

            let audience = try await user.account("token", "--audience", "api")
            #expect(audience.exitCode == 78, "\(audience)")
            #expect(audience.errors.contains("token exchange"))
            #expect(try await requests(user) == [])

            // For a narrower scope, AccountKit sends a refresh instead. Some services issue the next refresh token only
            // with `offline_access`.
            let narrow = try await token(user, "--scope", "openid email")
            #expect(try await token(user, "--scope", "openid") != narrow)
            let scopes = try await requests(user).compactMap(\.scope)
            #expect(scopes == ["email openid offline_access", "openid offline_access"])
            let resource = try await user.account("token", "--resource", "urn:c")
            #expect(resource.exitCode == 78, "\(resource)")
            #expect(resource.errors.contains("the service does not issue this token (invalid_target"))
            #expect(try await user.account("refresh").exitCode == 0)
        }
    }
}
