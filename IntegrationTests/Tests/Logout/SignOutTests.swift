@testable import EndToEndSupport
import Testing

/// Signing out, which works without the network, and the outcome of the revocation that `logout` reports. The table of
/// responses is in `SessionDecisionTests`, and of outcomes in `RevocationResultTests`; `SignOutFlowTests` has the
/// archives that cannot be opened.
@Suite(.queued)
struct SignOutTests {
    private struct Report: Decodable {
        struct Part: Decodable, Equatable {
            let session: String
            let username: String?
            let revocation: String
        }

        let state: String
        let sessions: [Part]
    }

    @Test func `logout removes the account and revokes its tokens`() async throws {
        try await SignedInUser.run { user in
            let token = try await user.account.storedToken()
            try #require(try await user.server.accepts(token))
            let outcome = try await user.account("logout")
            #expect(outcome.exitCode == 0)
            #expect(outcome.output == "")
            #expect(outcome.errors == "Signed out alice.\n")
            #expect(!user.container.exists(user.container.archive))
            // One request for the refresh token and one for the access token.
            #expect(try await user.server.log()["/oauth/revoke"] == 2)
            #expect(try await !user.server.accepts(token))

            let report = try await user.account("whoami", "--json").document()
            #expect(report.reason == "signedOutByUser")
            #expect(report.endedAt != nil)
            let again = try await user.account("logout")
            #expect(again.exitCode == 0)
            #expect(again.errors == "No user was signed in.\n")
            #expect(try await user.server.log()["/oauth/revoke"] == 2)
            let other = try await user.account("logout", "--session", "other")
            #expect(other.exitCode == 0 && other.errors == "No user is signed in.\n", "\(other)")
            #expect(try await !user.account("sessions").output.contains("other"), "a sign-out creates no session")
        }
    }

    @Test func `logout removes the data of a session that the service ended`() async throws {
        try await SignedInUser.run { user in
            try await user.server.endSessions()
            #expect(try await user.account("whoami", "--verify").exitCode == 77)
            let outcome = try await user.account("logout")
            #expect(outcome.exitCode == 0)
            #expect(
                outcome.errors
                    == "No user was signed in. The data of the session that the service ended was removed.\n",
                "\(outcome)")
            #expect(try await user.account("logout").errors == "No user was signed in.\n")
        }
    }

    @Test func `logout reports the outcome of the revocation`() async throws {
        try await SignedInUser.run { user in
            func logOut(_ arguments: String...) async throws -> String? {
                let logout = try await user.account.run(["logout", "--json"] + arguments)
                #expect(logout.exitCode == 0, "\(logout)")
                let report = try logout.document(Report.self)
                #expect(report.state == "signedOut" && report.sessions.map(\.username) == ["alice"], "\(logout)")
                return report.sessions.first?.revocation
            }
            let token = try await user.account.storedToken()
            #expect(try await logOut("--local") == "notNeeded")
            #expect(try await user.server.log().requests == [])
            #expect(try await user.server.accepts(token))

            try await user.signIn()
            try await user.server.clearLog()
            try await user.server.alter(.discovery, omitting: ["revocation_endpoint"])
            #expect(try await logOut() == "notSupported")
            #expect(try await user.server.log()["/oauth/revoke"] == 0)
            try await user.server.alter(.discovery)

            try await user.signIn()
            #expect(try await logOut() == "done")

            try await user.signIn()
            try await user.server.setFaults(
                Fault(path: "/oauth/revoke", status: 401, body: #"{"error":"invalid_client"}"#))
            try await user.server.clearLog()
            #expect(try await logOut() == "refused")
            #expect(!user.container.exists(user.container.archive))
            let requestCount = try await user.server.log()["/oauth/revoke"]
            // The user knows that the service refused it.
            for _ in 1...3 {
                #expect(try await user.account("logout").errors == "No user was signed in.\n")
            }
            #expect(try await user.server.log()["/oauth/revoke"] == 3 * requestCount, "three attempts in all")
        }
    }

    @Test func `Signs out if the service fails, and revokes the tokens later`() async throws {
        try await SignedInUser.run { user in
            let token = try await user.account.storedToken()
            try await user.server.setFaults(Fault(path: "*", status: 503))
            let outcome = try await user.account("logout", "--json")
            #expect(outcome.exitCode == 0, "\(outcome)")
            #expect(
                try outcome.document(Report.self).sessions
                    == [.init(session: "default", username: "alice", revocation: "queued")])
            #expect(!user.container.exists(user.container.archive))
            #expect(try await user.account("whoami", "--offline").exitCode == 77)
            try await user.server.clearFaults()
            try #require(try await user.server.accepts(token))
            try await user.signIn()
            #expect(try await !user.server.accepts(token))
        }
    }

    @Test func `Signs out when the service is unreachable`() async throws {
        try await SignedInUser.runWithoutServer { account, container, issuer in
            let outcome = try await account("logout")
            #expect(outcome.exitCode == 0)
            #expect(outcome.output == "")
            #expect(outcome.errors.hasPrefix("Signed out alice. \(issuer) has not been notified yet"))
            #expect(!container.exists(container.archive))
            #expect(try await account("whoami").exitCode == 77)
        }
    }

    @Test func `logout --all signs out readable and unreadable sessions`() async throws {
        try await SignedInUser.run { user in
            try await user.signIn(session: "work")
            try await user.signIn(session: "test")
            try user.container.write("nonsense".utf8, to: user.container.archive)
            let logout = try await user.account("logout", "--all")
            #expect(logout.exitCode == 0, "\(logout)")
            #expect(logout.output == "")
            #expect(logout.errors.contains("was not notified"), "\(logout)")
            for session in ["default", "test", "work"] {
                let whoami = try await user.account("whoami", "--session", session, "--json")
                #expect(whoami.exitCode == 77)
                #expect(try whoami.document().reason == "signedOutByUser")
            }
            #expect(try await user.server.log()["/oauth/revoke"] == 4)
            // The unreadable archive is moved aside, since it may still be recoverable.
            let moved = try user.container.quarantine()
            #expect(moved.count == 1)
            #expect(try moved.first.flatMap { try user.container.entry($0) }?.bytes == Array("nonsense".utf8))
            try await user.signIn()
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
        }
    }
}
