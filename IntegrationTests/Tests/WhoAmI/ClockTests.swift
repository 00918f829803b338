@testable import EndToEndSupport
import Foundation
import Testing

/// Wrong clocks and clocks that jump. A jump causes at most one unnecessary refresh, and does not sign the user out. The
/// tables of jumps are in `AccessTokenTests` and `AccountStoreTests`; `TokenExpiryTests` has the clock of the service.
@Suite(.queued)
struct ClockTests {
    private static let hour = 3600
    private static let year = 365 * 24 * hour

    @Test func `A clock jump causes one refresh, ahead or back`() async throws {
        try await SignedInUser.run { user in
            let clock = try await WrongClock(in: user.container)
            for _ in 1...3 {
                #expect(try await clock.run(user.account, ahead: Self.hour, ["token"]).exitCode == 0)
            }
            #expect(try await user.server.log()["refreshes"] == 1)
            let status = try await clock.run(user.account, ahead: Self.year, ["status"])
            #expect(status.output.contains(/Expires +expired on [0-9: -]+; refreshed at the next use/), "\(status)")

            let login = try await clock.run(
                user.account, ahead: Self.year,
                ["login", "--session", "future", "--issuer", user.server.issuer]
                    + ["--username", "alice", "--password-stdin"], input: ExampleServer.alicePassword + "\n")
            try #require(login.exitCode == 0, "\(login)")
            // According to the clock at sign-in, this token is valid for more than another year.
            try await user.server.expireTokens()
            try await user.server.clearLog()
            for _ in 1...3 {
                let outcome = try await user.account("token", "--session", "future")
                #expect(outcome.exitCode == 0, "\(outcome)")
                #expect(try await user.server.accepts(String(outcome.output.dropLast())))
            }
            #expect(try await user.server.log()["refreshes"] == 1)
        }
    }

    @Test func `A wrong clock does not change how long a command waits`() async throws {
        try await SignedInUser.run { user in
            let clock = try await WrongClock(in: user.container)
            let before = try user.container.contents()
            try await user.server.setFaults(Fault(path: "/oauth/userinfo", delayMilliseconds: 60_000))
            let start = ContinuousClock.now
            let outcome = try await clock.run(user.account, ahead: -Self.year, ["whoami", "--verify", "--json"])
            // Without its own timeout, the command would wait for a minute.
            #expect((.seconds(2) ... .seconds(55)).contains(ContinuousClock.now - start))
            #expect(outcome.exitCode == 69, "\(outcome)")
            let document = try outcome.document()
            #expect(document.state == "unverified" && document.reason == "offline")
            #expect(document.message?.hasSuffix(" did not respond in time") == true)
            #expect(document.account?.username == "alice")
            #expect(try user.container.contents() == before)
        }
    }

    @Test func `Keeps the account if a wrong clock makes the certificate invalid`() async throws {
        try await Container.run { container in
            let certificate = try await Certificate.make(in: container)
            try await ExampleServer.run(certificate.serverOptions) { server in
                let account = try Tool.account(in: container).with("SSL_CERT_FILE", certificate.path)
                let login = try await account(
                    "login", "--issuer", server.issuer, "--username", "alice", "--password-stdin",
                    input: ExampleServer.alicePassword + "\n")
                try #require(login.exitCode == 0, "\(login)")
                let clock = try await WrongClock(in: container)
                let before = try container.files()
                let json = try await clock.run(account, ahead: Self.year, ["whoami", "--json"])
                #expect(json.exitCode == 0, "\(json)")
                let report = try json.document()
                #expect(report.state == "unverified" && report.reason == "untrustedTLS")
                #expect(report.account?.username == "alice")
                #expect(try container.files() == before)
                #expect(try await account("whoami", "--verify").exitCode == 0)
            }
        }
    }
}
