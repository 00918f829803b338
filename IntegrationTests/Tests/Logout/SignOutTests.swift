@testable import EndToEndSupport
import Testing

/// Signing out, which works without the network.
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
        }
    }

    @Test func `logout --local sends no request`() async throws {
        try await SignedInUser.run { user in
            let token = try await user.account.storedToken()
            let outcome = try await user.account("logout", "--local", "--json")
            #expect(outcome.exitCode == 0)
            let report = try outcome.document(Report.self)
            #expect(report.state == "signedOut")
            #expect(report.sessions == [.init(session: "default", username: "alice", revocation: "notNeeded")])
            #expect(!user.container.exists(user.container.archive))
            #expect(try await user.server.log().requests == [])
            #expect(try await user.server.accepts(token))
        }
    }

    static let troubles = [
        Fault(path: "/oauth/revoke", status: 503),
        Fault(path: "/oauth/revoke", status: 429, headers: ["Retry-After": "600"]),
        Fault(path: "/oauth/revoke", disconnect: .before),
        Fault(path: "/oauth/revoke", status: 200, headers: ["Content-Type": "text/html"], body: "<html></html>"),
        Fault(path: "*", status: 503),
    ]

    @Test(arguments: troubles)
    func `Signs out if the service fails, and revokes the tokens later`(trouble: Fault) async throws {
        try await SignedInUser.run { user in
            let token = try await user.account.storedToken()
            try await user.server.setFaults(trouble)
            let outcome = try await user.account("logout", "--json")
            #expect(outcome.exitCode == 0, "\(outcome)")
            #expect(
                try outcome.document(Report.self).sessions
                    == [.init(session: "default", username: "alice", revocation: "queued")])
            #expect(!user.container.exists(user.container.archive))
            #expect(try await user.account("whoami", "--offline").exitCode == 77)
            #expect(try await user.server.accepts(token) == (trouble.path != "*"))

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

    @Test func `logout --all signs out every session and revokes its tokens`() async throws {
        try await SignedInUser.run { user in
            try await user.signIn(session: "work")
            try await user.signIn(session: "test")
            let outcome = try await user.account("logout", "--all", "--json")
            #expect(outcome.exitCode == 0)
            #expect(
                try outcome.document(Report.self).sessions
                    == ["default", "test", "work"].map { .init(session: $0, username: "alice", revocation: "done") })
            for session in ["default", "test", "work"] {
                #expect(try await user.account("whoami", "--session", session).exitCode == 77)
            }
            #expect(try await user.server.log()["/oauth/revoke"] == 6)
        }
    }
}
