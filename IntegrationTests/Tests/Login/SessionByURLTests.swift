@testable import EndToEndSupport
import Testing

/// A session by URL is a full session, also at a service that does not name the user. `APICheckTests` has the table of
/// responses.
@Suite(.queued)
struct SessionByURLTests {
    @Test func `A session without a user is named after the API, and is verified there`() async throws {
        try await APIUser.run(["--api-scope", "notes:read"]) { user in
            let name = "127.0.0.1:\(user.server.port)"
            let login = try await user.account.logInOnDevice(at: user.server, [user.api])
            try #require(login.exitCode == 0, "\(login)")
            #expect(login.errors.contains("Signed in to \(name) at \(user.server.issuer)."), "\(login)")
            var outcomes = [login]

            let checked = try await user.account.verify()
            #expect(checked.exitCode == 0 && checked.output == name + "\n", "\(checked)")
            #expect(checked.errors.contains("signed in to \(name)") && !checked.errors.contains("set up"), "\(checked)")
            outcomes.append(checked)

            // The API requires more, but accepts the token.
            let challenge = #"Bearer error="insufficient_scope", scope="notes:write""#
            try await user.server.setFaults(Fault(path: "/mcp", status: 403, headers: ["WWW-Authenticate": challenge]))
            let limited = try await user.account.verify()
            #expect(limited.exitCode == 0, "\(limited)")
            #expect(limited.errors.contains("--step-up --scope=notes:write"), "\(limited)")
            try await user.server.setFaults(Fault(path: "/mcp", status: 405))
            #expect(try await user.account.verify().exitCode == 0)

            // A 401 causes one refresh, and then says that the response is unclear.
            try await user.server.setFaults(Fault(path: "/mcp", status: 401))
            try await user.server.clearLog()
            let refused = try await user.account("whoami", "--verify")
            #expect(refused.exitCode == 69 && refused.errors.contains("You are still signed in"), "\(refused)")
            #expect(try await user.server.log()["/oauth/token"] == 1)
            try await user.server.clearFaults()
            outcomes += [limited, refused]

            // Signing in again replaces the session without a question or a note.
            let again = try await user.account.logInOnDevice(at: user.server)
            #expect(again.exitCode == 0 && !again.errors.contains("replaces"), "\(again)")
            outcomes.append(again)
            for words in [["status"], ["sessions"], ["whoami", "--offline"], ["refresh"], ["logout"]] {
                outcomes.append(try await user.account.run(words))
            }
            for outcome in outcomes {
                #expect(!outcome.output.contains("local:") && !outcome.errors.contains("local:"), "\(outcome)")
            }
        }
    }

    @Test func `Broken user info prevents no sign-in for an API`() async throws {
        try await APIUser.run { user in
            try await user.server.setFaults(Fault(path: "/oauth/userinfo", status: 500))
            let login = try await user.account.logInOnDevice(at: user.server, [user.api])
            #expect(login.exitCode == 0, "\(login)")
            #expect(try await user.account.verify().exitCode == 0)
        }
    }
}
