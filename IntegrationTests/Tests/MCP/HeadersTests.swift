@testable import EndToEndSupport
import Foundation
import Testing

/// `account headers`: header fields for other programs. `RuleURLTests` has the table of URLs that must not get a token.
@Suite(.queued)
struct HeadersTests {
    @Test func `Renews a token that the server has forgotten when asked again`() async throws {
        try await SignedInUser.run { user in
            #expect(try await user.account("rule", "add", user.server.issuer, "--session", "default").exitCode == 0)
            let url = user.server.issuer + "/oauth/userinfo"
            let first = try await user.account("headers", url).output
            #expect(try await user.account("headers", url).output == first)
            try await user.server.expireTokens()
            let renewed = try await user.account("headers", url)
            #expect(renewed.exitCode == 0 && renewed.output != first, "\(renewed)")
            #expect(try await user.account("headers", url).output == renewed.output)
            #expect(try await user.server.log()["rotations"] == 1)
        }
    }

    @Test func `Prints the header fields of a URL with a rule, or the command to run`() async throws {
        try await SignedInUser.run { user in
            let url = user.server.issuer + "/oauth/userinfo?x=1"
            let before = try await user.account("headers", url)
            #expect(before.exitCode == 78 && before.output.isEmpty, "\(before)")
            #expect(before.errors.contains("`account rule add \(user.server.issuer)/oauth/userinfo --session NAME`"))
            let path = user.server.issuer + "/oauth"
            #expect(try await user.account("rule", "add", path, "--session", "default").exitCode == 0)
            for place in ["/..;/x", "/%252e%252e/x", "/a%255c..%255cx"] {
                let refused = try await user.account("headers", path + place)
                #expect(refused.exitCode == 78 && refused.output.isEmpty, "\(refused)")
                #expect(refused.errors.contains("in different ways"), "\(refused)")
            }
            #expect(try await user.account("rule", "add", user.server.issuer, "--session", "default").exitCode == 0)

            let printed = try await user.account("headers", url)
            let fields = try JSONDecoder().decode([String: String].self, from: Data(printed.output.utf8))
            let token = try await user.account.storedToken()
            #expect(fields == ["Authorization": "Bearer " + token], "\(printed)")
            #expect(printed.errors.isEmpty)

            for command in ["headers", "mcp"] {
                let refused = try await user.account(command, "https://u:p@api.example.com")
                #expect(refused.exitCode == 64 && refused.output.isEmpty, "\(refused)")
                #expect(!refused.errors.contains("u:p"), "\(refused)")
            }
            #expect(try await user.account("logout").exitCode == 0)
            let outcome = try await user.account("headers", user.server.issuer)
            #expect(outcome.exitCode == 77 && outcome.output.isEmpty, "\(outcome)")
            #expect(outcome.errors.contains("`account login`"), "\(outcome)")
        }
    }
}
