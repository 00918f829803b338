@testable import EndToEndSupport
import Foundation
import Testing

/// Tokens for other APIs, with the real command.
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

    @Test func `Warns if a derived token expires before --min-validity`() async throws {
        try await run { user in
            let words = ["token", "--resource", "urn:b"]
            let short = try await user.account.run(words + ["--min-validity", "999999"])
            #expect(short.exitCode == 0 && short.errors.contains("--min-validity 999999"), "\(short)")
            #expect(try await user.account.run(words + ["--min-validity", "60"]).errors == "")
        }
    }

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

    @Test func `Refreshes for a narrower scope if the service has no token exchange`() async throws {
        try await SignedInUser.run { user in
            let narrow = try await token(user, "--scope", "openid email")
            #expect(try await token(user, "--scope", "openid") != narrow)
            // Some services issue the next refresh token only with `offline_access`.
            #expect(
                try await requests(user).compactMap(\.scope).suffix(2) == [
                    "email openid offline_access", "openid offline_access",
                ])
        }
    }

    @Test func `token --json includes a derived token's expiry`() async throws {
        try await run { user in
            let outcome = try await user.account("token", "--audience", "api", "--json")
            #expect(outcome.exitCode == 0, "\(outcome)")
            let document = try JSONDecoder().decode([String: String].self, from: Data(outcome.output.utf8))
            #expect(document["tokenType"] == "Bearer")
            #expect(document["session"] == "default")
            #expect(document["expiresAt"] != nil)
            #expect(document["token"] == (try await token(user, "--audience", "api")))
        }
    }

    @Test func `Thirty processes that request the same token derive the token once`() async throws {
        for words in [["--resource", "urn:b"], ["--audience", "api"]] {
            try await run { user in
                let tokens = try await withThrowingTaskGroup { group in
                    for _ in 1...30 {
                        group.addTask { try await user.account.run(["token"] + words) }
                    }
                    var tokens: Set<String> = []
                    for try await outcome in group {
                        #expect(outcome.exitCode == 0, "\(outcome)")
                        tokens.insert(outcome.output)
                    }
                    return tokens
                }
                #expect(tokens.count == 1)
                #expect(try await requests(user).count == 1)
                #expect(try await user.account("refresh").exitCode == 0)
                #expect(try await user.server.log()["reuseAlarms"] == 0)
            }
        }
    }

    @Test func `Concurrent derivations and refreshes spend each refresh token once`() async throws {
        try await run { user in
            try await withThrowingTaskGroup { group in
                for number in 0..<24 {
                    group.addTask {
                        switch number % 4 {
                        case 0: try await user.account("refresh")
                        case 1: try await user.account("token", "--resource", "urn:b", "--min-validity", "7200")
                        case 2: try await user.account("token", "--resource", "https://a.example/")
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
        try await SignedInUser.run { user in
            let outcome = try await user.account("token", "--resource", "urn:c")
            #expect(outcome.exitCode == 78, "\(outcome)")
            #expect(outcome.errors.contains("the service does not issue this token (invalid_target"))
            #expect(try await user.server.log()["refreshes"] == 1)
            #expect(try await user.account("refresh").exitCode == 0)
        }
    }

    @Test func `invalid_grant for a derived token keeps the session`() async throws {
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
        }
    }

    @Test func `Sends no token request if the service does not offer token exchange`() async throws {
        try await SignedInUser.run { user in
            let outcome = try await user.account("token", "--audience", "api")
            #expect(outcome.exitCode == 78, "\(outcome)")
            #expect(outcome.errors.contains("token exchange"))
            #expect(try await requests(user) == [])
        }
    }

    @Test func `Prints no derived token after the session has ended`() async throws {
        try await run { user in
            try await user.server.endSessions()
            // A failed exchange does not show whether the session has ended.
            #expect(try await user.account("token", "--audience", "api").exitCode == 78)
            #expect(try await user.account("whoami", "--offline").output == "alice\n")
            let outcome = try await user.account("token", "--resource", "urn:b")
            #expect(outcome.exitCode == 77, "\(outcome)")
            #expect(try await user.account("whoami", "--offline").exitCode == 77)
        }
    }

    @Test func `Offline, prints the cached derived token until the token expires`() async throws {
        for (lifetime, exitCode) in [(3600, 0 as Int32), (1, 69)] {
            try await Container.run { container in
                let account = try Tool.account(in: container)
                let token = try await ExampleServer.run { server in
                    let user = SignedInUser(server: server, container: container, account: account)
                    try await user.signIn()
                    try await server.alter(.token, setting: ["expires_in": .integer(lifetime)])
                    return try await account("token", "--scope", "openid")
                }
                #expect(token.exitCode == 0, "\(token)")
                try await waitUntil("the exit code was \(exitCode)") {
                    try await account("token", "--scope", "openid", "--min-validity", "0").exitCode == exitCode
                }
                for words in [[], ["--min-validity", "7200"]] {
                    let outcome = try await account.run(["token", "--scope", "openid"] + words)
                    #expect(outcome.exitCode == exitCode, "\(outcome)")
                    #expect(outcome.output == (exitCode == 0 ? token.output : ""))
                }
                let other = try await account("token", "--scope", "email")
                #expect(other.exitCode == 69, "\(other)")
                #expect(other.errors.contains("you are still signed in"))
                #expect(try await account("whoami", "--offline").output == "alice\n")
            }
        }
    }

    @Test func `Derives a new token if the cached token expires too soon`() async throws {
        try await run(["--access-token-lifetime", "600"]) { user in
            let first = try await token(user, "--resource", "urn:b")
            #expect(try await token(user, "--resource", "urn:b", "--min-validity", "300") == first)
            #expect(try await token(user, "--resource", "urn:b", "--min-validity", "900") != first)
        }
    }

    // MARK: Late and lost responses, sign-out

    @Test func `Derives a token despite a lost response and stores a late response`() async throws {
        try await run { user in
            try await user.server.setFaults(Fault(path: "/oauth/token", disconnect: .before, times: 1))
            let lost = try await user.account("token", "--resource", "urn:b")
            #expect(lost.exitCode == 69, "\(lost)")
            #expect(try await user.account("whoami", "--offline").output == "alice\n")
            // AccountKit sends no request for a few seconds after the failure.
            try await waitUntil("the service received another request") {
                try await user.account("token", "--resource", "urn:b").exitCode == 0
            }
            #expect(try await user.server.log()["reuseAlarms"] == 0)
        }
        try await run { user in
            let first = try await token(user, "--resource", "urn:b")
            // The delay exceeds the time that a command waits if it has a valid token.
            try await user.server.setFaults(
                Fault(path: "/oauth/token", delayMilliseconds: 7000, afterHandler: true, times: 1))
            #expect(try await token(user, "--resource", "urn:b", "--min-validity", "7200") == first)
            #expect(try await token(user, "--resource", "urn:b") != first)
            #expect(try await user.account("refresh").exitCode == 0)
            #expect(try await user.server.log()["reuseAlarms"] == 0)
        }
    }

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

    @Test func `Rejects invalid resources, audiences and scopes as usage errors`() async throws {
        try await SignedInUser.run { user in
            for words in [
                ["--resource", "here"], ["--resource", "https://a/#b"], ["--audience", ""], ["--scope", ""],
                ["--scope", "a\"b"], ["--audience", "a", "--resource", "urn:b"],
            ] {
                #expect(try await user.account.run(["token"] + words).exitCode == 64, "\(words)")
            }
            #expect(try await user.server.log().requests == [])
            let given = try await user.account.with("ACCOUNT_TOKEN", "given")("token", "--scope", "openid")
            #expect(given.exitCode == 64, "\(given)")
            #expect(given.errors.contains("ACCOUNT_TOKEN"))
        }
    }
}
