@testable import EndToEndSupport
import Testing

/// Refreshing an access token.
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

            let log = try await user.server.log()
            #expect(log["refreshes"] == 1)
            #expect(log["rotations"] == 1)
            #expect(log["reuseAlarms"] == 0)
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
        }
    }

    @Test func `Prints the old token if the refresh fails and the token is valid`() async throws {
        try await SignedInUser.run { user in
            let before = try await user.account.storedToken()
            try await user.server.setFaults(Fault(path: "/oauth/token", status: 503))
            let outcome = try await user.account("token", "--min-validity", "7200")
            #expect(outcome.exitCode == 0)
            #expect(outcome.output == before + "\n")
            #expect(try await user.server.log()["refreshes"] == 1)
        }
    }

    @Test func `Keeps the refresh token if a response omits refresh_token`() async throws {
        try await SignedInUser.run { user in
            try await user.server.alter(.token, omitting: ["refresh_token"])
            let first = try await user.account("refresh")
            #expect(first.exitCode == 0, "\(first)")
            // The server rotated the refresh token but omitted the new token, so the server treats the old token as
            // stolen.
            try await user.server.alter(.token)
            let second = try await user.account("refresh")
            #expect(second.exitCode == 77, "\(second)")
            let log = try await user.server.log()
            #expect(log["refreshes"] == 2)
            #expect(log["reuseAlarms"] == 1)
        }
    }

    @Test func `refresh prints the new expiry on standard error only`() async throws {
        try await SignedInUser.run { user in
            let before = try await user.account.storedToken()
            let outcome = try await user.account("refresh")
            #expect(outcome.exitCode == 0)
            #expect(outcome.output == "")
            #expect(outcome.errors.contains(/^New tokens for alice, valid until \d{4}-\d\d-\d\d \d\d:\d\d\.\n$/))
            #expect(try await user.account.storedToken() != before)
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

/// Responses from the token endpoint to a refresh that do not end a session.
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

    private static func status(_ status: Int, _ headers: [String: String] = [:], body: String? = nil) -> Fault {
        Fault(path: "/oauth/token", status: status, headers: headers, body: body)
    }

    private static func error(_ code: String, status: Int = 400) -> Fault {
        Self.status(status, body: #"{"error":"\#(code)"}"#)
    }

    static let errors = [
        Row("invalid_client", "misconfigured", error("invalid_client", status: 401)),
        Row("unauthorized_client", "misconfigured", error("unauthorized_client")),
        Row("unsupported_grant_type", "misconfigured", error("unsupported_grant_type")),
        Row("invalid_scope", "misconfigured", error("invalid_scope")),
        Row("invalid_request", "misconfigured", error("invalid_request")),
        Row("temporarily_unavailable", "serverError", error("temporarily_unavailable")),
        Row("server_error", "serverError", error("server_error")),
        Row("access_denied", "unclearReply", error("access_denied")),
        Row("expired_token", "unclearReply", error("expired_token")),
        Row("An unknown error", "unclearReply", error("session_limit_reached")),
        Row("invalid_grant with 503", "serverError", error("invalid_grant", status: 503)),
        Row("invalid_grant with 404", "unclearReply", error("invalid_grant", status: 404)),
        Row(
            "invalid_grant on a web page", "unclearReply",
            status(400, ["Content-Type": "text/html"], body: #"<p>{"error":"invalid_grant"}</p>"#)),
        Row("invalid_grant as plain text", "unclearReply", status(400, body: "error=invalid_grant")),
        Row("invalid_grant in a list", "unclearReply", status(400, body: #"[{"error":"invalid_grant"}]"#)),
        Row("invalid_grant in an object", "unclearReply", status(400, body: #"{"data":{"error":"invalid_grant"}}"#)),
        Row(
            "401 with a Bearer challenge", "unclearReply",
            status(401, ["WWW-Authenticate": #"Bearer error="invalid_token""#])),
    ]

    static let responses = [
        Row("400 without a body", "unclearReply", status(400)),
        Row("403", "unclearReply", status(403)),
        Row("404", "unclearReply", status(404)),
        Row("407", "proxyAuthenticationRequired", status(407)),
        Row("429", "rateLimited", status(429, ["Retry-After": "30"]), retryAfter: 30),
        Row("500", "serverError", status(500)),
        Row("503", "serverError", status(503, ["Retry-After": "60"]), retryAfter: 60),
        Row("511", "captivePortal", status(511)),
        Row("A web page", "captivePortal", status(200, ["Content-Type": "text/html"], body: "<html></html>")),
        Row("Garbage", "unclearReply", status(200, body: "\u{0}")),
        Row("No access_token", "unclearReply", status(200, body: #"{"token_type":"Bearer","expires_in":60}"#)),
        Row("An empty response", "unclearReply", status(200, body: "{}")),
        Row("An access_token that is a number", "unclearReply", status(200, body: #"{"access_token":17}"#)),
        Row("An empty access_token", "unclearReply", status(200, body: #"{"access_token":""}"#)),
        Row("An access_token with a line end", "unclearReply", status(200, body: #"{"access_token":"a\r\nX: y"}"#)),
        Row("Another type of token", "unclearReply", status(200, body: #"{"access_token":"a","token_type":"mac"}"#)),
        Row("Closed before a response", "offline", Fault(path: "/oauth/token", disconnect: .before)),
        Row("Cut off", "offline", Fault(path: "/oauth/token", disconnect: .truncated)),
        Row("Not HTTP", "offline", Fault(path: "/oauth/token", disconnect: .garbled)),
    ]

    @Test(arguments: errors + responses)
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

    @Test func `status reports a refresh whose response was lost`() async throws {
        try await SignedInUser.run { user in
            try await user.server.expireTokens()
            try await user.server.setFaults(
                Fault(path: "/oauth/token", disconnect: .truncated, afterHandler: true, times: 1))
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
