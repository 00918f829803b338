@testable import EndToEndSupport
import Testing

/// A service that grants malformed scopes. `ScopeTests` has the table of malformed scopes.
@Suite(.queued)
struct ScopesTests {
    @Test func `Neither shows nor sends malformed scopes that the service granted`() async throws {
        try await Container.run { container in
            try await ExampleServer.run { server in
                let account = try Tool.account(in: container)
                let scope = "openid\tprofile a\"b öffnen \u{1b}[31mred\u{1b}[0m\na\\b"
                try await server.alter(.token, setting: ["scope": .text(scope)])
                let login = try await account(
                    "login", "--issuer", server.issuer, "--username", "alice", "--password-stdin",
                    input: ExampleServer.alicePassword + "\n")
                let asked = try await server.log().requests.compactMap(\.scope)
                var outcomes = [login]
                for words in [["whoami", "--verify"], ["refresh"], ["status"], ["whoami", "--json"]] {
                    outcomes.append(try await account.run(words))
                }
                for outcome in outcomes {
                    #expect(outcome.exitCode == 0, "\(outcome)")
                    let shown = outcome.output + outcome.errors
                    #expect(!shown.contains("\u{1b}") && !shown.contains("\t"), "\(outcome)")
                }
                for request in try await server.log().requests where request.scope != nil {
                    #expect(asked.contains(request.scope ?? ""), "\(request)")
                }
            }
        }
    }
}
