@testable import EndToEndSupport
import Testing

/// Responses from the user info endpoint, or from an intermediary, that do not end a session.
@Suite(.queued)
struct KeptSessionTests {
    /// A response from the user info endpoint, and the expected result of the check.
    struct Row: CustomTestStringConvertible, Sendable {
        let name: String
        let fault: Fault
        let reason: String
        var retryAfter: Int?
        var verifyCode: Int32 = 69

        init(_ name: String, _ reason: String, _ fault: Fault, retryAfter: Int? = nil, verifyCode: Int32 = 69) {
            (self.name, self.reason, self.fault) = (name, reason, fault)
            (self.retryAfter, self.verifyCode) = (retryAfter, verifyCode)
        }

        var testDescription: String { name }
    }

    private static func status(_ status: Int, _ headers: [String: String] = [:], body: String? = nil) -> Fault {
        Fault(path: "/oauth/userinfo", status: status, headers: headers, body: body)
    }

    private static func challenge(_ status: Int, _ value: String) -> Fault {
        Self.status(status, ["WWW-Authenticate": value])
    }

    private static func ok(_ body: String, type: String = "application/json") -> Fault {
        status(200, ["Content-Type": type], body: body)
    }

    static let challenges = [
        Row("401 without a challenge", "unclearReply", status(401)),
        Row("401 with the error in its body only", "unclearReply", status(401, body: #"{"error":"invalid_token"}"#)),
        Row("401 Bearer without an error", "unclearReply", challenge(401, #"Bearer realm="account""#)),
        Row("401 Bearer with another error", "unclearReply", challenge(401, #"Bearer error="invalid_request""#)),
        Row("401 Bearer with an error in capitals", "unclearReply", challenge(401, #"Bearer error="INVALID_TOKEN""#)),
        Row("401 Basic", "unclearReply", challenge(401, #"Basic realm="office""#)),
        Row(
            "401 Basic that quotes a Bearer challenge", "unclearReply",
            challenge(401, #"Basic realm="Bearer error=\"invalid_token\"""#)),
        Row("401 DPoP", "unclearReply", challenge(401, #"DPoP error="invalid_token""#)),
        Row(
            "401 with two errors", "unclearReply",
            challenge(401, #"Bearer error="invalid_token", Bearer error="insufficient_scope""#)),
        Row("401 with a broken challenge", "unclearReply", challenge(401, #"Bearer error="invalid_token"#)),
        Row("403", "unclearReply", status(403)),
        Row("403 invalid_token", "unclearReply", challenge(403, #"Bearer error="invalid_token""#)),
        Row("403 insufficient_scope", "insufficientScope", challenge(403, #"Bearer error="insufficient_scope""#)),
        Row("401 insufficient_scope", "insufficientScope", challenge(401, #"Bearer error="insufficient_scope""#)),
    ]

    static let statuses = [
        Row("400 invalid_token", "unclearReply", challenge(400, #"Bearer error="invalid_token""#)),
        Row("400 invalid_grant", "unclearReply", status(400, body: #"{"error":"invalid_grant"}"#)),
        Row("404", "unclearReply", status(404)),
        Row("410", "unclearReply", status(410)),
        Row("418", "unclearReply", status(418)),
        Row("407", "proxyAuthenticationRequired", status(407, ["Proxy-Authenticate": "Basic"])),
        Row("408", "serverError", status(408)),
        Row("425", "serverError", status(425)),
        Row("429", "rateLimited", status(429)),
        Row("429 with Retry-After", "rateLimited", status(429, ["Retry-After": "7"]), retryAfter: 7),
        Row("500", "serverError", status(500)),
        Row("500 invalid_grant", "serverError", status(500, body: #"{"error":"invalid_grant"}"#)),
        Row("502", "serverError", status(502)),
        Row("503 with Retry-After", "serverError", status(503, ["Retry-After": "120"]), retryAfter: 120),
        Row("503 with a Bearer challenge", "serverError", challenge(503, #"Bearer error="invalid_token""#)),
        Row("504", "serverError", status(504)),
        Row("511", "captivePortal", status(511)),
    ]

    static let bodies = [
        Row("A web page", "captivePortal", ok("<!DOCTYPE html><title>Free Wi-Fi</title>", type: "text/html")),
        Row("A web page with the type of JSON", "captivePortal", ok("\n <html></html>")),
        Row("Garbage", "unclearReply", ok("{\"sub\":")),
        Row("Nothing", "unclearReply", ok("")),
        Row("No JSON object", "unclearReply", ok("[]")),
        Row("No user", "unclearReply", ok("{}")),
        Row("An empty user", "unclearReply", ok(#"{"sub":""}"#)),
        Row("A user that is not text", "unclearReply", ok(#"{"sub":["u-5f0c2a9b7d314e86"]}"#)),
        Row("Over 1 MiB", "unclearReply", ok(String(repeating: " ", count: 1 << 20) + #"{"sub":"x"}"#)),
        Row("Another user", "wrongAccount", ok(#"{"sub":"u-c41e88d20b9f6a57","preferred_username":"bob"}"#)),
    ]

    static let discovery = [
        Row("Discovery: 503", "serverError", Fault(path: "*", status: 503)),
        Row("Discovery: 401", "unclearReply", Fault(path: "*", status: 401)),
        Row("Discovery: 404", "misconfigured", Fault(path: "*", status: 404), verifyCode: 78),
        Row("Discovery: a web page", "captivePortal", Fault(path: "*", body: "<html></html>")),
        Row(
            "Discovery: a redirect", "captivePortal",
            Fault(path: "*", status: 302, headers: ["Location": "http://portal.invalid/"])),
        Row(
            "Discovery: of another issuer", "misconfigured",
            Fault(path: "*", body: #"{"issuer":"https://evil.example","token_endpoint":"https://evil.example/t"}"#),
            verifyCode: 78),
    ]

    static let connections = [
        Row("Closed before a response", "offline", Fault(path: "/oauth/userinfo", disconnect: .before)),
        Row("Cut off", "offline", Fault(path: "/oauth/userinfo", disconnect: .truncated, afterHandler: true)),
        Row("Not HTTP", "offline", Fault(path: "/oauth/userinfo", disconnect: .garbled)),
        Row("Discovery: closed before a response", "offline", Fault(path: "*", disconnect: .before)),
    ]

    @Test(arguments: challenges + statuses + bodies + discovery + connections)
    func `Keeps the account unless the service explicitly rejects the token`(row: Row) async throws {
        try await SignedInUser.run { user in
            let before = try user.container.contents()
            try await user.server.setFaults(row.fault)

            let json = try await user.account("whoami", "--max-age", "0", "--json")
            let report = try json.document()
            #expect(json.exitCode == 0, "\(json)")
            #expect(report.state == "unverified")
            #expect(report.reason == row.reason)
            #expect(report.retryAfter == row.retryAfter)
            #expect(report.account?.username == "alice")
            #expect(report.account?.id == "u-5f0c2a9b7d314e86")

            let text = try await user.account("whoami", "--max-age", "0")
            #expect(text.exitCode == 0)
            #expect(text.output == "alice\n")
            #expect(text.errors.contains("You are still signed in"))

            let verified = try await user.account("whoami", "--verify")
            #expect(verified.exitCode == row.verifyCode, "\(verified)")

            let log = try await user.server.log()
            // AccountKit refreshes and repeats the request. The response to the refresh shows whether the session has
            // ended.
            if row.name.hasPrefix("401"), row.reason == "unclearReply" {
                #expect(log["/oauth/userinfo"] == 6)
                return #expect(log["/oauth/token"] == 3)
            }
            // AccountKit records that the token may be another user's, so that no command prints the token.
            if row.reason != "wrongAccount" { #expect(try user.container.contents() == before) }

            // Each run has sent one request and no refresh.
            #expect(log[row.fault.path == "*" ? "/oauth/userinfo" : row.fault.path] == (row.fault.path == "*" ? 0 : 3))
            #expect(log["/oauth/token"] == 0)
        }
    }

    @Test func `The next check after a failure reports success`() async throws {
        try await SignedInUser.run { user in
            try await user.server.setFaults(Fault(path: "/oauth/userinfo", status: 503, times: 1))
            #expect(try await user.account("whoami", "--verify").exitCode == 69)
            let after = try await user.account("whoami", "--verify")
            #expect(after.exitCode == 0)
            #expect(after.output == "alice\n")
            #expect(after.errors == "")
        }
    }
}
