@testable import EndToEndSupport
import Subprocess
import Testing

/// `logout` while the response to a refresh is late, at a service that revokes each token separately.
/// `RefreshUnderWayTests` and `SignalGuardTests` have the other changes of the session and the other signals.
@Suite(.queued)
struct LogoutWhileRefreshingTests {
    @Test func `logout does not wait for a late refresh, which revokes the new tokens`() async throws {
        try await SignedInUser.run(serverOptions: ExampleServer.eachTokenByItself) { user in
            try await user.server.expireTokens()
            let gate = try await user.server.holdRefreshes()
            let refresh = try await user.account.command(["refresh"]).whileRunning { refresh in
                try await gate.waitUntilHeld()
                let logout = try await user.account("logout")
                #expect(logout.exitCode == 0, "\(logout)")
                // The refresh is still waiting for the response.
                #expect(await refresh.errors.text == "")
                #expect(!user.container.exists(user.container.archive))
                // The new tokens are valid, and no client has received them yet. A signal does not prevent their
                // revocation.
                #expect(try await user.server.liveTokens(of: "alice").count == 2)
                try await refresh.send(.terminate)
                try await gate.open()
            }
            #expect(refresh.wasEnded(by: .terminate), "\(refresh)")
            #expect(!user.container.exists(user.container.archive))
            #expect(try await user.server.liveTokens(of: "alice") == [])
            let after = try await user.account("whoami", "--json")
            #expect(after.exitCode == 77)
            #expect(try after.document().reason == "signedOutByUser")
            #expect(try await user.server.log()["reuseAlarms"] == 0)
        }
    }
}
