@testable import EndToEndSupport
import Testing

/// Redirects, which AccountKit does not follow because a redirect can lead to any server. `ResponseParserTests` has the
/// table of statuses.
@Suite(.queued)
struct RedirectTests {
    @Test func `Never follows a redirect to another server`() async throws {
        try await ExampleServer.run { other in
            try await SignedInUser.run { user in
                func redirect(_ path: String, _ status: Int) async throws {
                    try await user.server.setFaults(
                        Fault(path: path, status: status, headers: ["Location": other.issuer + path]))
                }
                let archive = try user.container.entry(user.container.archive)
                try await redirect("/oauth/userinfo", 302)
                let check = try await user.account("whoami", "--max-age", "0")
                #expect(check.exitCode == 0 && check.output == "alice\n", "\(check)")
                try await redirect("/oauth/token", 307)
                #expect(try await user.account("refresh").exitCode == 69)
                let login = try await user.account(
                    "login", "--username", "alice", "--password-stdin", input: ExampleServer.alicePassword + "\n")
                #expect(login.exitCode == 69, "\(login)")
                #expect(try user.container.entry(user.container.archive) == archive)
                // `logout` removes the session regardless of the service's response.
                try await redirect("/oauth/revoke", 307)
                #expect(try await user.account("logout").exitCode == 0)
                #expect(!user.container.exists(user.container.archive))
                let log = try await user.server.log()
                #expect(log["/oauth/userinfo"] == 1 && log["/oauth/token"] == 2 && log["/oauth/revoke"] == 1)
                #expect(try await other.log().requests == [])
            }
        }
    }

    @Test func `Suggests a captive portal if the discovery request is redirected`() async throws {
        try await SignedInUser.run { user in
            try await user.server.setFaults(
                Fault(path: "*", status: 302, headers: ["Location": "http://portal.invalid/"]))
            let text = try await user.account("whoami", "--max-age", "0")
            #expect(text.output == "alice\n")
            #expect(text.errors.contains("such as a captive portal"))
            #expect(try await user.account("whoami", "--verify", "--json").document().reason == "captivePortal")
        }
    }
}
