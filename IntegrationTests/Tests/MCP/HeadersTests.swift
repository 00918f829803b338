@testable import EndToEndSupport
import Foundation
import Testing

/// `account headers`: header fields for other programs.
@Suite(.queued)
struct HeadersTests {
    @Test func `Prints the header fields of a URL with a rule`() async throws {
        try await SignedInUser.run { user in
            let url = user.server.issuer + "/oauth/userinfo?x=1"
            let before = try await user.account("headers", url)
            #expect(before.exitCode == 78 && before.output.isEmpty, "\(before)")
            #expect(before.errors.contains("`account rule add \(user.server.issuer)/oauth/userinfo --session NAME`"))
            #expect(try await user.account("rule", "add", user.server.issuer, "--session", "default").exitCode == 0)

            let printed = try await user.account("headers", url)
            let fields = try JSONDecoder().decode([String: String].self, from: Data(printed.output.utf8))
            let token = try await user.account.storedToken()
            #expect(fields == ["Authorization": "Bearer " + token], "\(printed)")
            #expect(printed.errors.isEmpty)
        }
    }

    @Test(arguments: ["http://api.example.com", "ftp://x", "https://u:p@api.example.com", "https://api.example.com/#a"])
    func `Refuses a URL that must not get a token`(url: String) async throws {
        try await SignedInUser.run { user in
            for command in ["headers", "mcp"] {
                let outcome = try await user.account(command, url)
                #expect(outcome.exitCode == 64 && outcome.output.isEmpty, "\(outcome)")
                #expect(!outcome.errors.contains("u:p"), "\(outcome)")
            }
        }
    }

    @Test func `Names the command that signs in`() async throws {
        try await SignedInUser.run { user in
            #expect(try await user.account("rule", "add", user.server.issuer, "--session", "default").exitCode == 0)
            #expect(try await user.account("logout").exitCode == 0)
            let outcome = try await user.account("headers", user.server.issuer)
            #expect(outcome.exitCode == 77 && outcome.output.isEmpty, "\(outcome)")
            #expect(outcome.errors.contains("`account login`"), "\(outcome)")
        }
    }
}
