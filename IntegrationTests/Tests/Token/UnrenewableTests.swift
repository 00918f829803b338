@testable import EndToEndSupport
import Testing

/// A session without a refresh token. `OfflineAccessTests` tests the advice.
@Suite(.queued)
struct UnrenewableTests {
    @Test func `Reports the end of the session, and prints no expired token`() async throws {
        try await Container.run { container in
            try await ExampleServer.run { server in
                try await server.alter(.token, omitting: ["refresh_token"])
                let account = try Tool.account(in: container)
                let login = try await account(
                    "login", "--issuer", server.issuer, "--username", "alice", "--password-stdin",
                    input: ExampleServer.alicePassword + "\n")
                #expect(login.exitCode == 0, "\(login)")
                let notice = /This session lasts until 20\d\d-\d\d-\d\d \d\d:\d\d \(in \d+ \w+\):/
                #expect(login.errors.contains(notice), "\(login)")
                #expect(login.errors.contains("allow refresh tokens for this client in the service's settings"))
                #expect(!login.errors.contains("--scope"), "the sign-in requested offline_access")

                let later = try await WrongClock(in: container).tool(account, ahead: 86_400)
                let before = try container.files()
                let token = try await later("token", "--min-validity", "0")
                #expect(token.exitCode == 77, "\(token)")
                #expect(!token.output.contains("at_"))
                #expect(token.errors.contains("your session at \(server.issuer) ended "))
                #expect(token.errors.contains("Sign in again with `account login`"))
                let status = try await later("status")
                #expect(status.exitCode == 77, "\(status)")
                #expect(status.output.contains("Your session at \(server.issuer) ended "))
                #expect(!status.output.contains("refreshed"))
                let json = try await later("status", "--json")
                #expect(json.exitCode == 77)
                #expect(try json.document().reason == "expired")
                // A wrong clock does not sign the user out.
                #expect(try container.files() == before)
                #expect(try await account("token").exitCode == 0)
                #expect(try await account("status").exitCode == 0)
            }
        }
    }
}
