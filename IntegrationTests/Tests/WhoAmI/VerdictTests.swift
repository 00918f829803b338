@testable import EndToEndSupport
import Testing

/// Checks whose tokens are replaced or invalid, or whose user info response is unclear.
@Suite(.queued)
struct VerdictTests {
    @Test func `Repeats a check if another process replaced the tokens`() async throws {
        try await SignedInUser.run { user in
            let gate = try await user.server.hold("/oauth/userinfo", ifStatus: 200)
            let outcome = try await user.account.command(["whoami", "--verify"]).whileRunning { _ in
                try await gate.waitUntilHeld()
                #expect(try await user.account("refresh").exitCode == 0)
                try await gate.open()
            }
            #expect(outcome.exitCode == 0, "\(outcome)")
            #expect(outcome.output == "alice\n")
            #expect(try await user.server.log()["refreshes"] == 1)
        }
    }

    @Test func `Prints no expired token that cannot be refreshed`() async throws {
        try await SignedInUser.run(serverOptions: ["--refresh-tokens", "never"]) { user in
            let later = try await WrongClock(in: user.container)
            for words in [["token"], ["token", "--min-validity", "0"], ["token", "--json"]] {
                let outcome = try await later.run(user.account, ahead: 7200, words)
                #expect(outcome.exitCode == 77, "\(outcome)")
                #expect(!outcome.output.contains("at_"), "\(outcome)")
                #expect(outcome.errors.contains("login"), "\(outcome)")
            }
            let status = try await later.run(user.account, ahead: 7200, ["status"])
            #expect(!status.output.contains("refreshed at the next use"), "\(status)")
            #expect(status.output.lowercased().contains("sign in again"), "\(status)")
            // According to the correct clock, the token is still valid.
            #expect(try await user.account("token").exitCode == 0)
        }
    }

    @Test(arguments: ["none", "body"])
    func `Refreshes once after a 401 without a challenge`(refusal: String) async throws {
        try await SignedInUser.run(serverOptions: ["--user-info-refusal", refusal]) { user in
            try await user.server.expireTokens()
            let outcome = try await user.account("whoami", "--verify")
            #expect(outcome.exitCode == 0, "\(outcome)")
            #expect(outcome.output == "alice\n")
            #expect(try await user.server.log()["refreshes"] == 1)
        }
    }

    @Test(arguments: ["none", "body"])
    func `Ends the session on invalid_grant after a 401 without a challenge`(refusal: String) async throws {
        try await SignedInUser.run(serverOptions: ["--user-info-refusal", refusal]) { user in
            try await user.server.endSessions()
            let outcome = try await user.account("whoami", "--max-age", "0", "--json")
            #expect(outcome.exitCode == 77, "\(outcome)")
            #expect(try outcome.document().reason == "sessionEnded")
        }
    }

    @Test(arguments: ["none", "body"])
    func `Keeps a session without a refresh token on a 401 without a challenge`(refusal: String) async throws {
        try await SignedInUser.run(serverOptions: ["--user-info-refusal", refusal], byToken: true) { user in
            try await user.server.endSessions()
            let outcome = try await user.account("whoami", "--max-age", "0", "--json")
            #expect(outcome.exitCode == 0, "\(outcome)")
            #expect(try outcome.document().reason == "unclearReply")
            #expect(user.container.exists(user.container.archive))
        }
    }

    @Test func `Keeps the session on a repeated 401 after a successful refresh`() async throws {
        try await SignedInUser.run { user in
            try await user.server.setFaults(Fault(path: "/oauth/userinfo", status: 401, body: "{}"))
            for _ in 1...3 {
                let outcome = try await user.account("whoami", "--max-age", "0")
                #expect(outcome.output == "alice\n", "\(outcome)")
            }
            // Each check refreshes at most once.
            #expect(try await user.server.log()["refreshes"] <= 3)
            try await user.server.clearFaults()
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
        }
    }

    @Test func `Only a 401 with the message Bad credentials ends a GitHub session`() async throws {
        try await Container.run { container in
            try await ExampleServer.run(["--quirks", "github", "--device-interval", "1"]) { server in
                let account = try Tool.account(in: container)
                let words = ["--service", "github", "--issuer", server.issuer, "--client-id", "account-cli"]
                let login = try await account.command(["login", "--device"] + words).whileRunning { login in
                    let code = try await login.errors.match {
                        $0.firstMatch(of: /\n +([A-Z]{4}-[A-Z]{4})\n/).map { String($0.1) }
                    }
                    try await server.decide("approve", code, at: server.issuer + "/login/device")
                }
                try #require(login.exitCode == 0, "\(login)")
                for body in [#"{"message":"Requires authentication"}"#, "Bad credentials", #"["Bad credentials"]"#] {
                    try await server.setFaults(Fault(path: "/api/v3/user", status: 401, body: body))
                    let unclear = try await account("whoami", "--max-age", "0")
                    #expect(unclear.output == "alice\n", "\(unclear)")
                }
                try await server.setFaults(
                    Fault(path: "/api/v3/user", status: 403, body: #"{"message":"Bad credentials"}"#))
                #expect(try await account("whoami", "--max-age", "0").output == "alice\n")
                try await server.clearFaults()
                try await server.endSessions()
                let ended = try await account("whoami", "--max-age", "0", "--json")
                #expect(ended.exitCode == 77, "\(ended)")
                #expect(try ended.document().reason == "sessionEnded")
                #expect(!container.exists(container.archive))
            }
        }
    }
}
