@testable import EndToEndSupport
import Testing

/// A service that grants malformed scopes.
@Suite(.queued)
struct ScopesTests {
    static let garbage = [
        "openid\tprofile", "openid profile a\"b", "openid öffnen", "openid \u{1b}[31mred\u{1b}[0m", "a\\b",
        "openid  profile", "", "openid\nprofile",
    ]

    @Test(arguments: garbage)
    func `Neither shows nor sends malformed scopes that the service granted`(scope: String) async throws {
        try await Container.run { container in
            try await ExampleServer.run(ExampleServer.eachTokenByItself) { server in
                let account = try Tool.account(in: container)
                try await server.alter(.token, setting: ["scope": .text(scope)])
                func expectFine(_ outcome: Outcome) {
                    #expect(outcome.exitCode == 0, "\(outcome)")
                    let shown = outcome.output + outcome.errors
                    #expect(!shown.contains("\u{1b}"), "\(outcome)")
                    #expect(!shown.contains("\t"), "\(outcome)")
                    #expect(shown.count < 5000)
                }
                expectFine(
                    try await account(
                        "login", "--issuer", server.issuer, "--username", "alice", "--password-stdin",
                        input: ExampleServer.alicePassword + "\n"))
                let asked = try await server.log().requests.compactMap(\.scope)
                for words in [["whoami", "--verify"], ["refresh"], ["status"], ["whoami", "--json"], ["refresh"]] {
                    expectFine(try await account.run(words))
                }
                try await server.expireTokens()
                expectFine(try await account("whoami", "--max-age", "0"))
                #expect(try await account("token").exitCode == 0)
                for request in try await server.log().requests where request.scope != nil {
                    #expect(asked.contains(request.scope ?? ""), "\(request)")
                }
                let logout = try await account("logout", "--json")
                #expect(logout.output.contains(#""revocation":"done""#), "\(logout)")
                #expect(try await server.liveTokens(of: "alice") == [])
            }
        }
    }
}
