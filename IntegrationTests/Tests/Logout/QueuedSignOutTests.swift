@testable import EndToEndSupport
import Foundation
import Testing

/// Later commands send a revocation that AccountKit could not send immediately. `RevocationTests` has the pauses and the
/// number of attempts, and `RevocationFolderTests` the index.
@Suite(.queued)
struct QueuedSignOutTests {
    @Test func `A command in another session sends the queued revocation`() async throws {
        try await SignedInUser.run(serverOptions: ExampleServer.eachTokenByItself) { user in
            try await user.server.setFaults(Fault(path: "/oauth/revoke", status: 503))
            let logout = try await user.account("logout")
            try #require(logout.exitCode == 0, "\(logout)")
            // A new session knows no service.
            let login = try await user.account(
                "login", "--username", "bob", "--password-stdin", "--session", "work", "--issuer", user.server.issuer,
                input: ExampleServer.bobPassword + "\n")
            try #require(login.exitCode == 0, "\(login)")
            try #require(try await user.server.liveTokens(of: "alice").count == 2)
            try await user.server.clearFaults()
            let clock = try await WrongClock(in: user.container)
            // Each command moves the clock by a day, since AccountKit delays the next attempt. A command waits only one
            // second for the response to a revocation, so a slow service may need several attempts.
            var tokens: [ExampleServer.LiveToken] = []
            for day in 1...5 where day == 1 || !tokens.isEmpty {
                let outcome = try await clock.run(
                    user.account, ahead: day * 86_400, ["whoami", "--verify", "--session", "work"])
                #expect(outcome.exitCode == 0, "\(outcome)")
                tokens = try await user.server.liveTokens(of: "alice")
            }
            #expect(tokens == [])
        }
    }

    @Test func `doctor --fix sends a queued revocation that is not in the index`() async throws {
        try await SignedInUser.run(serverOptions: ExampleServer.eachTokenByItself) { user in
            try await user.signIn(session: "work")
            try await user.server.setFaults(Fault(path: "/oauth/revoke", status: 503))
            try #require(try await user.account("logout", "--session", "work").exitCode == 0)
            try #require(try await user.server.liveTokens(of: "alice").count == 4)
            try FileManager.default.removeItem(atPath: user.container.home + "/Documents/Revocations")
            try await user.server.clearFaults()
            #expect(try await user.account("doctor", "--fix").exitCode == 0)
            // The tokens of the default session remain.
            #expect(try await user.server.liveTokens(of: "alice").count == 2)
        }
    }
}
