import Foundation
import Testing

/// Refresh tokens that are good for one time, at an authorization server that this project did not write.
@Suite(.queued(minutes: 15))
struct DjangoRotationTests {
    /// Runs a test for alice, signed in.
    private func run(
        reuseProtection: Bool,
        _ test: (
            _ container: Container, _ account: Tool, _ server: DjangoServer, _ issuer: String
        ) async throws -> Void
    ) async throws {
        try await Container.run { container in
            let server = try await DjangoServer(in: container)
            let account = try Tool.account(in: container)
            try await server.run(reuseProtection: reuseProtection) { issuer in
                let outcome = try await account(
                    "login", "--issuer", issuer, "--username", "alice", "--password-stdin",
                    input: DjangoServer.password + "\n")
                try #require(outcome.exitCode == 0, "\(outcome)")
                try await test(container, account, server, issuer)
            }
        }
    }

    @Test(arguments: [true, false])
    func `Ten processes that find the token expired refresh it once, and all stay signed in`(
        reuseProtection: Bool
    ) async throws {
        try await run(reuseProtection: reuseProtection) { _, account, server, _ in
            try await server.expireAll()
            try await withThrowingTaskGroup { group in
                for _ in 1...10 {
                    group.addTask { try await account("whoami", "--max-age", "0") }
                }
                for try await outcome in group {
                    #expect(outcome.exitCode == 0, "\(outcome)")
                    #expect(outcome.output == "alice\n")
                    #expect(outcome.errors == "")
                }
            }
            #expect(try await server.refreshCount() == 1)
            #expect(try await account("whoami", "--verify").output == "alice\n")
            // Had a refresh token been used twice, the next one could be void by now.
            let refreshed = try await account("refresh")
            #expect(refreshed.exitCode == 0, "\(refreshed)")
            #expect(try await server.refreshCount() == 2)
            #expect(try await account("whoami", "--verify").output == "alice\n")
        }
    }

    /// As from a backup: the archive has a refresh token that was spent since.
    ///
    /// The service refuses it with the same `invalid_grant` either way. It differs in what becomes of the newer tokens.
    @Test(arguments: [true, false])
    func `A refresh token that was spent before ends the session here, and with reuse protection everywhere`(
        reuseProtection: Bool
    ) async throws {
        try await run(reuseProtection: reuseProtection) { container, account, server, issuer in
            let old = try #require(try container.entry(container.archive)).bytes
            try #require(try await account("refresh").exitCode == 0)
            let new = try #require(try container.entry(container.archive)).bytes
            let newToken = try await account.storedToken()

            try container.write(old, to: container.archive)
            let refused = try await account("refresh")
            #expect(refused.exitCode == 77, "\(refused)")
            #expect(refused.output == "")
            #expect(refused.errors.contains("\(issuer) ended this session"))
            #expect(!container.exists(container.archive))
            #expect(try await server.refreshCount() == 1)
            let report = try await account("whoami", "--json").document()
            #expect(report.reason == "sessionEnded")
            #expect(report.endedBy == issuer)

            let userInfo = try await HTTP.get(issuer + "/userinfo/", bearer: newToken)
            #expect((userInfo.status == 200) == !reuseProtection)
            try container.write(new, to: container.archive)
            let after = try await account("refresh")
            #expect(after.exitCode == (reuseProtection ? 77 : 0), "\(after)")
        }
    }
}
