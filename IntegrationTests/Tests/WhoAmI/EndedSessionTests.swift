@testable import EndToEndSupport
import Foundation
import Testing

/// The only responses that end a session.
@Suite(.queued)
struct EndedSessionTests {
    /// Expects that alice is signed out because the service has ended her session.
    private func expectCleared(_ user: SignedInUser, _ outcome: Outcome, word: String) async throws {
        #expect(outcome.exitCode == 77)
        #expect(outcome.output == "")
        let sentence =
            /^account: (\S+) ended this session (just now|\d+ s ago) \((\w+)\)\n  Sign in with `account login`\.\n$/
        let said = try #require(outcome.errors.firstMatch(of: sentence), "\(outcome)").output
        #expect(said.1 == user.server.issuer)
        #expect(said.3 == word)
        #expect(!user.container.exists(user.container.archive))
        #expect(user.container.exists(user.container.signOutRecord))

        // The next command reports the same reason without a request to the service.
        let next = try await user.account("whoami", "--offline")
        #expect(next.exitCode == 77)
        #expect(next.output == "")
        #expect(next.errors == outcome.errors)
        let json = try await user.account("whoami", "--json")
        let report = try json.document()
        #expect(json.exitCode == 77)
        #expect(report.state == "signedOut")
        #expect(report.reason == "sessionEnded")
        #expect(report.endedBy == user.server.issuer)
        let endedAt = try Date(try #require(report.endedAt), strategy: .iso8601)
        #expect(abs(endedAt.timeIntervalSinceNow) < 120, "\(endedAt)")
        #expect(report.message == word)
        #expect(report.account == nil)

        let token = try await user.account("token")
        #expect(token.exitCode == 77)
        #expect(token.output == "")
    }

    @Test func `invalid_grant on a refresh ends the session and records it`() async throws {
        try await SignedInUser.run { user in
            try await user.server.endSessions()
            let outcome = try await user.account("whoami", "--max-age", "0")
            try await expectCleared(user, outcome, word: "invalid_grant")
            let log = try await user.server.log()
            #expect(log["refreshes"] == 1)
            // A session that the service has ended needs no revocation.
            #expect(log["/oauth/revoke"] == 0)

            try await user.signIn()
            #expect(!user.container.exists(user.container.signOutRecord))
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
        }
    }

    @Test func `The refresh command ends the session if the service rejects the token`() async throws {
        try await SignedInUser.run { user in
            try await user.server.endSessions()
            let outcome = try await user.account("refresh")
            #expect(outcome.exitCode == 77)
            #expect(outcome.output == "")
            #expect(outcome.errors.contains("\(user.server.issuer) ended this session (invalid_grant)"))
            #expect(!user.container.exists(user.container.archive))
            #expect(try await user.account("whoami", "--json").document().reason == "sessionEnded")
        }
    }

    @Test func `token reports that the service has ended the session`() async throws {
        try await SignedInUser.run { user in
            try await user.server.endSessions()
            let outcome = try await user.account("token", "--min-validity", "7200")
            #expect(outcome.exitCode == 77)
            #expect(outcome.output == "")
            #expect(outcome.errors.contains("ended this session"))
            #expect(!user.container.exists(user.container.archive))
        }
    }

    @Test func `invalid_token ends a session without a refresh token`() async throws {
        try await SignedInUser.run(byToken: true) { user in
            try await user.server.endSessions()
            let outcome = try await user.account("whoami", "--max-age", "0")
            try await expectCleared(user, outcome, word: "invalid_token")
            let log = try await user.server.log()
            #expect(log["/oauth/token"] == 0)
            #expect(log["/oauth/userinfo"] == 1)
        }
    }

    @Test func `A late 401 does not end a session that began after the request`() async throws {
        try await SignedInUser.run(byToken: true) { user in
            let challenge = ["WWW-Authenticate": #"Bearer error="invalid_token""#]
            let gate = try await user.server.hold(
                Fault(path: "/oauth/userinfo", status: 401, headers: challenge, times: 1), .before)
            var token: String?
            let outcome = try await user.account.command(["whoami", "--max-age", "0", "--json"]).whileRunning { _ in
                try await gate.waitUntilHeld()
                // The held request has used up the only fault, so this sign-in completes before the first response
                // arrives.
                try await user.signInWithToken()
                token = try await user.account.storedToken()
                try await gate.open()
            }
            #expect(outcome.exitCode == 0, "\(outcome)")
            #expect(try outcome.document().account?.username == "alice")
            #expect(try await user.account.storedToken() == token)
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
        }
    }

    @Test func `The end of one session leaves the container's other session unchanged`() async throws {
        try await SignedInUser.run { user in
            try await user.signIn(session: "work")
            let work = try user.container.entry(user.container.archive(of: "work"))
            try await user.server.endSessions()
            #expect(try await user.account("whoami", "--max-age", "0").exitCode == 77)
            #expect(try user.container.entry(user.container.archive(of: "work")) == work)
            #expect(try await user.account("whoami", "--offline", "--session", "work").output == "alice\n")
        }
    }
}
