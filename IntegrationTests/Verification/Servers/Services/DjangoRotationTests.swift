@testable import EndToEndSupport
import Foundation
import Testing

/// Single-use refresh tokens, at an authorization server that is not part of this project.
@Suite(.queued(minutes: 15))
struct DjangoRotationTests {
    /// Restores an archive, as from a backup, whose refresh token has been spent since the backup.
    ///
    /// The service responds `invalid_grant` with and without reuse protection. With reuse protection, the service also
    /// revokes the newer tokens.
    @Test(arguments: [true, false])
    func `Ten processes refresh once, and a spent token ends the session`(reuseProtection: Bool) async throws {
        try await Container.run { container in
            let server = try await DjangoServer(in: container)
            let account = try Tool.account(in: container)
            try await server.run(reuseProtection: reuseProtection) { issuer in
                let login = try await account(
                    "login", "--issuer", issuer, "--username", "alice", "--password-stdin",
                    input: DjangoServer.password + "\n")
                try #require(login.exitCode == 0, "\(login)")
                try await server.expireAll()
                try await account.expectName("alice", inProcesses: 10)
                #expect(try await server.refreshCount() == 1)
                #expect(try await account("whoami", "--verify").output == "alice\n")

                // If a process had reused a refresh token, the next refresh token could be invalid now.
                let old = try #require(try container.entry(container.archive)).bytes
                try #require(try await account("refresh").exitCode == 0)
                #expect(try await server.refreshCount() == 2)
                #expect(try await account("whoami", "--verify").output == "alice\n")
                let new = try #require(try container.entry(container.archive)).bytes
                let newToken = try await account.storedToken()

                try container.write(old, to: container.archive)
                let refused = try await account("refresh")
                #expect(refused.exitCode == 77, "\(refused)")
                #expect(refused.output == "")
                #expect(refused.errors.contains("\(issuer) ended this session"))
                #expect(!container.exists(container.archive))
                #expect(try await server.refreshCount() == 2)
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
}
