@testable import EndToEndSupport
import Testing

/// Refreshing an access token. `AccessTokenTests` and `RefreshFlowTests` test when AccountKit refreshes, and what it keeps.
@Suite(.queued)
struct RefreshTests {
    @Test func `Refreshes a rejected token once and silently`() async throws {
        try await SignedInUser.run { user in
            let before = try await user.account.storedToken()
            try await user.server.expireTokens()

            let outcome = try await user.account("whoami", "--max-age", "0")
            #expect(outcome.exitCode == 0)
            #expect(outcome.output == "alice\n")
            #expect(outcome.errors == "")
            let after = try await user.account.storedToken()
            #expect(after != before)
            #expect(try await user.server.accepts(after))

            let refresh = try await user.account("refresh")
            #expect(refresh.exitCode == 0)
            #expect(refresh.output == "")
            #expect(refresh.errors.contains(/^New tokens for alice, valid until \d{4}-\d\d-\d\d \d\d:\d\d\.\n$/))
            #expect(try await user.account.storedToken() != after)

            let log = try await user.server.log()
            #expect(log["refreshes"] == 2)
            #expect(log["rotations"] == 2)
            #expect(log["reuseAlarms"] == 0)
        }
    }

    /// `OddTokenResponseTests` of AccountHTTP has the table of such responses.
    @Test func `Stores the tokens of odd responses, and loses no session`() async throws {
        try await SignedInUser.run { user in
            let foreign = try user.server.idToken(setting: ["iss": .text("https://elsewhere.example")])
            let odd: [(fields: [String: String], members: [String: JSON])] = [
                (["Content-Type": "text/html"], [:]), (["Content-Encoding": "gzip"], [:]),
                ([:], ["token_type": .text("BearerToken")]), ([:], ["token_type": .text("")]),
                ([:], ["id_token": .text(foreign)]), ([:], ["id_token": .text("unreadable"), "scope": .object([:])]),
            ]
            for (fields, members) in odd {
                let before = try await user.account.storedToken()
                try await user.server.setFaults(Fault(path: "/oauth/token", headers: fields))
                try await user.server.alter(.token, setting: members)
                let refresh = try await user.account("refresh")
                #expect(refresh.exitCode == 0, "\(fields) \(members) \(refresh)")
                let after = try await user.account.storedToken()
                #expect(after != before)
                #expect(try await user.server.accepts(after))
            }
            // Without an access token, only the next refresh token is stored.
            try await user.server.clearFaults()
            try await user.server.alter(.token, omitting: ["access_token"])
            let refused = try await user.account("refresh")
            #expect(refused.exitCode == 69 && refused.errors.contains("no access token that can be read"), "\(refused)")
            try await user.server.alter(.token)
            #expect(try await user.account("refresh").exitCode == 0)
            let log = try await user.server.log()
            #expect(log["rotations"] == odd.count + 2 && log["reuseAlarms"] == 0)
            #expect(log["refreshes"] == odd.count + 2)
        }
    }

    @Test func `Refreshes a token that expires before --min-validity`() async throws {
        try await SignedInUser.run(serverOptions: ["--access-token-lifetime", "600"]) { user in
            let before = try await user.account.storedToken()
            let enough = try await user.account("token", "--min-validity", "300")
            #expect(enough.output == before + "\n")
            #expect(try await user.server.log()["refreshes"] == 0)

            let more = try await user.account("token", "--min-validity", "900")
            #expect(more.exitCode == 0)
            #expect(more.output != before + "\n")
            #expect(try await user.server.log()["refreshes"] == 1)

            // The old token is still valid if the refresh fails.
            try await user.server.setFaults(Fault(path: "/oauth/token", status: 503))
            let failed = try await user.account("token", "--min-validity", "7200")
            #expect(failed.exitCode == 0)
            #expect(failed.output == more.output)
            #expect(try await user.server.log()["refreshes"] == 2)
        }
    }

    @Test func `refresh reports a session without a refresh token`() async throws {
        try await SignedInUser.run(byToken: true) { user in
            let outcome = try await user.account("refresh")
            #expect(outcome.exitCode == 78)
            #expect(outcome.errors.contains("no refresh token"))
            #expect(try await user.server.log().requests == [])
            #expect(try await user.account("whoami", "--offline").output == "alice\n")
        }
    }

    @Test func `Keeps the session on a 401 for a token that was just issued`() async throws {
        try await SignedInUser.run { user in
            let before = try await user.account.storedToken()
            try await user.server.setFaults(
                Fault(
                    path: "/oauth/userinfo", status: 401,
                    headers: ["WWW-Authenticate": #"Bearer error="invalid_token""#])
            )
            let outcome = try await user.account("whoami", "--max-age", "0", "--json")
            let report = try outcome.document()
            #expect(outcome.exitCode == 0)
            #expect(report.state == "unverified")
            #expect(report.reason == "unclearReply")
            #expect(report.account?.username == "alice")

            let log = try await user.server.log()
            #expect(log["refreshes"] == 1)
            #expect(log["/oauth/userinfo"] == 2)
            // The new token is stored although the service rejected it, since the old refresh token is spent.
            #expect(try await user.account.storedToken() != before)
            try await user.server.clearFaults()
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
        }
    }
}

/// Responses from the token endpoint to a refresh that do not end a session. `ResponseParserTests` and
/// `SessionDecisionTests` have the full tables.
@Suite(.queued)
struct FailedRefreshTests {
    struct Row: CustomTestStringConvertible, Sendable {
        let name: String
        let fault: Fault
        let reason: String
        let retryAfter: Int?
        var verifyCode: Int32 { reason == "misconfigured" ? 78 : 69 }

        init(_ name: String, _ reason: String, _ fault: Fault, retryAfter: Int? = nil) {
            (self.name, self.reason, self.fault, self.retryAfter) = (name, reason, fault, retryAfter)
        }

        var testDescription: String { name }
    }

    static let rows = [
        Row(
            "invalid_client", "misconfigured",
            Fault(path: "/oauth/token", status: 401, body: #"{"error":"invalid_client"}"#)),
        Row(
            "503", "serverError", Fault(path: "/oauth/token", status: 503, headers: ["Retry-After": "60"]),
            retryAfter: 60),
        Row(
            "A web page", "captivePortal",
            Fault(path: "/oauth/token", status: 200, headers: ["Content-Type": "text/html"], body: "<html></html>")),
    ]

    @Test(arguments: rows)
    func `Keeps the account and tokens and reports why a refresh failed`(row: Row) async throws {
        try await SignedInUser.run { user in
            let archive = try user.container.entry(user.container.archive)
            try await user.server.expireTokens()
            try await user.server.setFaults(row.fault)

            let json = try await user.account("whoami", "--max-age", "0", "--json")
            let report = try json.document()
            #expect(json.exitCode == 0, "\(json)")
            #expect(report.state == "unverified")
            #expect(report.reason == row.reason)
            #expect(report.retryAfter == row.retryAfter)
            #expect(report.account?.username == "alice")

            let text = try await user.account("whoami", "--max-age", "0")
            #expect(text.exitCode == 0)
            #expect(text.output == "alice\n")
            #expect(text.errors.contains("You are still signed in"))

            #expect(try await user.account("whoami", "--verify").exitCode == row.verifyCode)
            let refresh = try await user.account("refresh")
            #expect(refresh.exitCode == row.verifyCode)
            #expect(refresh.output == "")
            #expect(refresh.errors.contains("you are still signed in"))

            #expect(try user.container.entry(user.container.archive) == archive)
            #expect(!user.container.exists(user.container.signOutRecord))

            // Each command sent the refresh token once. The service did not spend the token, so the next refresh
            // succeeds.
            #expect(try await user.server.log()["refreshes"] == 4)
            try await user.server.clearFaults()
            let after = try await user.account("whoami", "--verify")
            #expect(after.exitCode == 0)
            #expect(after.errors == "")
            let log = try await user.server.log()
            #expect(log["rotations"] == 1)
            #expect(log["reuseAlarms"] == 0)
        }
    }

    @Test func `Stores the tokens in a truncated response`() async throws {
        try await SignedInUser.run { user in
            try await user.server.expireTokens()
            try await user.server.setFaults(
                Fault(path: "/oauth/token", disconnect: .truncated, afterHandler: true, times: 1))
            for _ in 1...2 {
                let after = try await user.account("whoami", "--verify")
                #expect(after.exitCode == 0 && after.errors == "", "\(after)")
            }
            let log = try await user.server.log()
            #expect(log["rotations"] == 1 && log["reuseAlarms"] == 0)
        }
    }

    @Test func `status reports a refresh whose response was lost`() async throws {
        try await SignedInUser.run { user in
            try await user.server.expireTokens()
            try await user.server.setFaults(
                Fault(path: "/oauth/token", disconnect: .garbled, afterHandler: true, times: 1))
            let lost = try await user.account("whoami", "--max-age", "0", "--json")
            #expect(lost.exitCode == 0)
            #expect(try lost.document().reason == "offline")

            let status = try await user.account("status", "--json")
            #expect(try status.document().unfinishedRefreshAt != nil)
            #expect(try await user.account("status").output.contains("its response was not stored"))

            // The service has spent the token. The session ends only because the service reports the reuse.
            let next = try await user.account("whoami", "--max-age", "0", "--json")
            #expect(next.exitCode == 77)
            #expect(try next.document().reason == "sessionEnded")
            #expect(try await user.server.log()["reuseAlarms"] == 1)
        }
    }
}
