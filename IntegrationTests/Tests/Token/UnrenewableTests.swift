@testable import EndToEndSupport
import Testing

/// A session without a refresh token.
@Suite(.queued)
struct UnrenewableTests {
    private func run(_ test: (SignedInUser, Outcome) async throws -> Void) async throws {
        try await Container.run { container in
            try await ExampleServer.run { server in
                try await server.alter(.token, omitting: ["refresh_token"])
                let user = SignedInUser(server: server, container: container, account: try .account(in: container))
                let login = try await user.account(
                    "login", "--issuer", server.issuer, "--username", "alice", "--password-stdin",
                    input: ExampleServer.alicePassword + "\n")
                #expect(login.exitCode == 0, "\(login)")
                try await test(user, login)
            }
        }
    }

    @Test func `login prints when a session without a refresh token ends, with advice`() async throws {
        try await run { _, login in
            let notice = /This session lasts until 20\d\d-\d\d-\d\d \d\d:\d\d \(in \d+ \w+\):/
            #expect(login.errors.contains(notice), "\(login)")
            #expect(login.errors.contains("allow refresh tokens for this client in the service's settings"))
            #expect(!login.errors.contains("--scope"), "the sign-in requested offline_access")
        }
    }

    @Test func `Prints no expired token, and status reports the end of the session`() async throws {
        try await run { user, _ in
            let clock = try await WrongClock(in: user.container)
            let before = try user.container.files()
            for arguments in [["token"], ["token", "--json"], ["token", "--min-validity", "0"]] {
                let token = try await clock.run(user.account, ahead: 86_400, arguments)
                #expect(token.exitCode == 77, "\(token)")
                #expect(!token.output.contains("at_"))
                #expect(token.errors.contains("your session at \(user.server.issuer) ended "))
                #expect(token.errors.contains("Sign in again with `account login`"))
            }
            let status = try await clock.run(user.account, ahead: 86_400, ["status"])
            #expect(status.exitCode == 77, "\(status)")
            #expect(status.output.contains("Your session at \(user.server.issuer) ended "))
            #expect(!status.output.contains("refreshed"))
            let json = try await clock.run(user.account, ahead: 86_400, ["status", "--json"])
            #expect(json.exitCode == 77)
            #expect(try json.document().reason == "expired")
            // A wrong clock does not sign the user out.
            #expect(try user.container.files() == before)
            #expect(try await user.account("token").exitCode == 0)
            #expect(try await user.account("status").exitCode == 0)
        }
    }
}
