@testable import EndToEndSupport
import Foundation
import Testing

/// The only responses that end a session, and the report of every command afterwards. `SessionDecisionTests` has the
/// table of responses.
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
    }

    @Test func `invalid_grant on a refresh ends the session and records it`() async throws {
        try await SignedInUser.run { user in
            for session in ["work", "test"] { try await user.signIn(session: session) }
            let work = try user.container.entry(user.container.archive(of: "work"))
            try await user.server.clearLog()
            try await user.server.endSessions()
            let outcome = try await user.account("whoami", "--max-age", "0")
            try await expectCleared(user, outcome, word: "invalid_grant")
            let log = try await user.server.log()
            #expect(log["refreshes"] == 1)
            // A session that the service has ended needs no revocation.
            #expect(log["/oauth/revoke"] == 0)
            // The container's other sessions are unchanged, until a command uses them.
            #expect(try user.container.entry(user.container.archive(of: "work")) == work)
            for words in [
                ["refresh", "--session", "work"], ["token", "--min-validity", "7200", "--session", "test"],
            ] {
                let ended = try await user.account.run(words)
                #expect(ended.exitCode == 77 && ended.output == "", "\(ended)")
                #expect(ended.errors.contains("ended this session"), "\(ended)")
            }
            try await user.signIn()
            #expect(!user.container.exists(user.container.signOutRecord))
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
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
}
