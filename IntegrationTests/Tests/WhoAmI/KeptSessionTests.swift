@testable import EndToEndSupport
import Testing

/// Responses that do not end a session: the command prints the name, and `--json` and the exit code of `--verify` have
/// the reason. The tables are in `ResponseParserTests`, `DiscoveryTests`, `TransportFailureTests` and
/// `SessionDecisionTests`.
@Suite(.queued)
struct KeptSessionTests {
    /// A response, the reason of the check, and the exit code of `--verify`.
    private static let rows: [(fault: Fault, reason: String, retryAfter: Int?, code: Int32)] = [
        (
            Fault(path: "/oauth/userinfo", status: 503, headers: ["Retry-After": "120"]), "serverError", 120, 69
        ),
        (
            Fault(
                path: "/oauth/userinfo", status: 200, headers: ["Content-Type": "text/html"],
                body: "<!DOCTYPE html><title>Free Wi-Fi</title>"), "captivePortal", nil, 69
        ),
        (Fault(path: "*", status: 404), "misconfigured", nil, 78),
    ]

    @Test func `Keeps the account unless the service explicitly rejects the token`() async throws {
        try await SignedInUser.run { user in
            let before = try user.container.contents()
            for row in Self.rows {
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
                let verified = try await user.account("whoami", "--verify")
                #expect(verified.exitCode == row.code, "\(verified)")
            }
            #expect(try user.container.contents() == before)
            let log = try await user.server.log()
            // Each run has sent one request and no refresh.
            #expect(log["/oauth/userinfo"] == 6)
            #expect(log["/oauth/token"] == 0)

            try await user.server.clearFaults()
            let after = try await user.account("whoami", "--verify")
            #expect(after.exitCode == 0 && after.output == "alice\n" && after.errors == "", "\(after)")
        }
    }
}
