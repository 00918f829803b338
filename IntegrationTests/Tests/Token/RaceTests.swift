@testable import EndToEndSupport
import Testing

/// Commands that run while a refresh is pending. `RefreshFlowTests`, `RefreshUnderWayTests` and `FullDiskTests` have the
/// other responses and the other failures of storage.
@Suite(.queued)
struct RaceTests {
    /// Starts a refresh, holds its response until `meanwhile` returns, and waits for the command to end.
    private func refresh(
        _ user: SignedInUser, _ fault: Fault, meanwhile: @escaping @Sendable () async throws -> Void
    ) async throws -> Outcome {
        try await user.server.expireTokens()
        let gate = try await user.server.hold(fault, .before)
        return try await user.account.command(["whoami", "--max-age", "0", "--json"]).whileRunning { _ in
            try await gate.waitUntilHeld()
            try await meanwhile()
            try await gate.open()
        }
    }

    /// A fault that delays the response to a refresh, and replaces the status and body if they are given.
    private static func late(status: Int? = nil, body: String? = nil) -> Fault {
        Fault(path: "/oauth/token", status: status, body: body, times: 1)
    }

    @Test func `A sign-out during a refresh takes effect and revokes the new tokens`() async throws {
        try await SignedInUser.run { user in
            // `logout` does not wait for the refresh. The refreshing command revokes the tokens that it receives.
            let outcome = try await refresh(user, Self.late()) {
                let signOut = try await user.account("logout")
                #expect(signOut.exitCode == 0, "\(signOut)")
            }
            #expect([0, 77].contains(outcome.exitCode), "\(outcome)")
            #expect(!user.container.exists(user.container.archive))
            let after = try await user.account("whoami", "--json")
            #expect(after.exitCode == 77)
            #expect(try after.document().reason == "signedOutByUser")
            let log = try await user.server.log()
            #expect(log["/oauth/revoke"] >= 2)
            #expect(try await user.server.liveTokens(of: "alice") == [])
            #expect(log["reuseAlarms"] == 0)
        }
    }

    @Test(arguments: [RaceTests.late(), RaceTests.late(status: 400, body: #"{"error":"invalid_grant"}"#)])
    func `A user who signs in during another user's refresh stays signed in`(fault: Fault) async throws {
        try await SignedInUser.run { user in
            _ = try await refresh(user, fault) {
                let signIn = try await user.account(
                    "login", "--username", "bob", "--password-stdin", input: ExampleServer.bobPassword + "\n")
                #expect(signIn.exitCode == 0, "\(signIn)")
            }
            let report = try await user.account("whoami", "--verify", "--json").document()
            #expect(report.state == "verified")
            #expect(report.account?.username == "bob")
            #expect(report.account?.profile?["email"] == .text("bob@example.org"))
            #expect(try await user.account("refresh").exitCode == 0)
            #expect(try await user.server.log()["reuseAlarms"] == 0)
        }
    }

    @Test func `Keeps the session on invalid_grant for a token that was just replaced`() async throws {
        try await SignedInUser.run { user in
            // Simulates two machines with copies of one archive. The copy on this machine does not contain the other
            // machine's new tokens.
            let old = try #require(try user.container.entry(user.container.archive))
            let outcome = try await refresh(user, Self.late(status: 400, body: #"{"error":"invalid_grant"}"#)) {
                // The lock does not cover the other machine.
                let bytes = try await Self.refreshedElsewhere(user)
                try user.container.write(bytes, to: user.container.archive)
            }
            #expect(outcome.exitCode == 0, "\(outcome)")
            #expect(try outcome.document().account?.username == "alice")
            #expect(try user.container.entry(user.container.archive) != old)
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
            #expect(try await user.account("refresh").exitCode == 0)
        }
    }

    /// The archive after a refresh in a copy of the container.
    private static func refreshedElsewhere(_ user: SignedInUser) async throws -> [UInt8] {
        let copy = user.container.path("elsewhere")
        let copied = try await Command(words: ["cp", "-a", user.container.home, copy]).run()
        guard copied.exitCode == 0 else { throw Unexpected(copied) }
        let elsewhere = user.account.with("ACCOUNT_HOME", copy)
        let refresh = try await elsewhere("refresh")
        guard refresh.exitCode == 0 else { throw Unexpected(refresh) }
        return try #require(try user.container.entry(copy + "/Documents/Account.plist")).bytes
    }

    @Test func `Sends no refresh token if the response could not be stored`() async throws {
        try await SignedInUser.run { user in
            let folder = user.container.home + "/Documents"
            try await user.server.expireTokens()
            func run(_ arguments: String...) async throws -> Outcome {
                try await user.account.command(arguments)
                    .run(inMountsOfItsOwn: "mount --bind '\(folder)' '\(folder)'; mount -o remount,bind,ro '\(folder)'")
                    .run()
            }
            let check = try await run("whoami", "--max-age", "0", "--json")
            #expect(check.exitCode == 0, "\(check)")
            #expect(try check.document().reason == "cannotSave", "\(check)")
            #expect(try check.document().account?.username == "alice")
            let refresh = try await run("refresh")
            #expect(refresh.exitCode == 74, "\(refresh)")
            #expect(refresh.errors.contains("Read-only file system"), "\(refresh)")
            #expect(try await user.server.log()["refreshes"] == 0)

            // Once the folder is writable again, the command spends the refresh token once.
            #expect(try await user.account("whoami", "--max-age", "0").output == "alice\n")
            let log = try await user.server.log()
            #expect(log["rotations"] == 1)
            #expect(log["reuseAlarms"] == 0)
        }
    }
}
