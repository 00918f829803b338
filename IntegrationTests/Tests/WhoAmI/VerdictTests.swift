@testable import EndToEndSupport
import Testing

/// Checks with a 401 that does not name the error, or with GitHub's own response. `SessionDecisionTests` has the table,
/// `CheckFlowTests` the repeated checks, and `KnownServiceTests` GitHub's response.
@Suite(.queued)
struct VerdictTests {
    @Test func `Refreshes after a 401 without a challenge, and the refresh decides`() async throws {
        try await SignedInUser.run(serverOptions: ["--user-info-refusal", "none"]) { user in
            try await user.server.expireTokens()
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
            #expect(try await user.server.log()["refreshes"] == 1)

            // A 401 again after each refresh does not end the session.
            try await user.signIn(session: "work")
            try await user.server.clearLog()
            try await user.server.setFaults(Fault(path: "/oauth/userinfo", status: 401, body: "{}"))
            for _ in 1...2 {
                let outcome = try await user.account("whoami", "--max-age", "0", "--session", "work")
                #expect(outcome.output == "alice\n", "\(outcome)")
            }
            #expect(try await user.server.log()["refreshes"] <= 2)
            try await user.server.clearFaults()
            #expect(try await user.account("whoami", "--verify", "--session", "work").output == "alice\n")

            try await user.signIn(session: "test")
            try await user.server.endSessions()
            let ended = try await user.account("whoami", "--max-age", "0", "--json", "--session", "test")
            #expect(ended.exitCode == 77, "\(ended)")
            #expect(try ended.document().reason == "sessionEnded")
        }
    }

    @Test func `Only a 401 with the message Bad credentials ends a GitHub session`() async throws {
        try await Container.run { container in
            try await ExampleServer.run(["--service", "github", "--device-interval", "1"]) { server in
                let account = try Tool.account(in: container)
                let words = ["--service", "github", "--issuer", server.issuer, "--client-id", "account-cli"]
                let login = try await account.command(["login", "--device"] + words).whileRunning { login in
                    let code = try await login.errors.match {
                        $0.firstMatch(of: /\n +([A-Z]{4}-[A-Z]{4})\n/).map { String($0.1) }
                    }
                    try await server.decide("approve", code, at: server.issuer + "/login/device")
                }
                try #require(login.exitCode == 0, "\(login)")
                try await server.setFaults(
                    Fault(path: "/api/v3/user", status: 401, body: #"{"message":"Requires authentication"}"#))
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
