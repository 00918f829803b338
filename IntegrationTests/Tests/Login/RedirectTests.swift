@testable import EndToEndSupport
import Testing

/// Redirects, which AccountKit does not follow because a redirect can lead to any server.
@Suite(.queued)
struct RedirectTests {
    /// The endpoint that redirects, and the command that receives the redirect.
    struct Row: CustomTestStringConvertible, Sendable {
        let path: String
        let status: Int
        let command: [String]
        var input = ""

        var testDescription: String { "\(status) from \(path) at \(command[0])" }
    }

    static let rows =
        [301, 302, 303, 307, 308].map {
            Row(path: "/oauth/userinfo", status: $0, command: ["whoami", "--max-age", "0"])
        }
        + [302, 307].flatMap { status in
            [
                Row(path: "/oauth/token", status: status, command: ["refresh"]),
                Row(path: "/oauth/revoke", status: status, command: ["logout"]),
                Row(path: "/.well-known/openid-configuration", status: status, command: ["whoami", "--max-age", "0"]),
                Row(
                    path: "/oauth/token", status: status,
                    command: ["login", "--username", "alice", "--password-stdin"],
                    input: ExampleServer.alicePassword + "\n"),
            ]
        }

    @Test(arguments: rows)
    func `Never follows a redirect to another server`(row: Row) async throws {
        try await ExampleServer.run { other in
            try await SignedInUser.run { user in
                let archive = try user.container.entry(user.container.archive)
                try await user.server.setFaults(
                    Fault(path: row.path, status: row.status, headers: ["Location": other.issuer + row.path]))
                let outcome = try await user.account.run(row.command, input: row.input)

                #expect(try await other.log().requests == [])
                let log = try await user.server.log()
                #expect(log[row.path] == 1)
                switch row.command[0] {
                case "whoami":
                    #expect(outcome.exitCode == 0)
                    #expect(outcome.output == "alice\n")
                case "logout":
                    // `logout` removes the session regardless of the service's response.
                    #expect(outcome.exitCode == 0)
                    #expect(!user.container.exists(user.container.archive))
                    return
                default: #expect(outcome.exitCode == 69, "\(outcome)")
                }
                #expect(try user.container.entry(user.container.archive) == archive)
            }
        }
    }

    @Test func `Suggests a captive portal if the discovery request is redirected`() async throws {
        try await SignedInUser.run { user in
            try await user.server.setFaults(
                Fault(path: "*", status: 302, headers: ["Location": "http://portal.invalid/"]))
            let text = try await user.account("whoami", "--max-age", "0")
            #expect(text.output == "alice\n")
            #expect(text.errors.contains("(a captive portal?)"))
            #expect(try await user.account("whoami", "--verify", "--json").document().reason == "captivePortal")
        }
    }
}
