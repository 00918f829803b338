@testable import EndToEndSupport
import Foundation
import Testing

/// The life of a session at an authorization server that is not part of this project.
@Suite(.queued(minutes: 15))
struct DjangoTests {
    private func signIn(_ account: Tool, _ issuer: String) async throws {
        let outcome = try await account(
            "login", "--issuer", issuer, "--username", "alice", "--password-stdin", input: DjangoServer.password + "\n")
        try #require(outcome.exitCode == 0, "\(outcome)")
        #expect(outcome.errors == "Signed in as alice at \(issuer).\n")
    }

    private func accepts(_ token: String, _ issuer: String) async throws -> Bool {
        try await HTTP.get(issuer + "/userinfo/", bearer: token).status == 200
    }

    @Test func `Signs in, refreshes, works offline, detects the end, and signs out`() async throws {
        try await Container.run { container in
            let server = try await DjangoServer(in: container)
            let account = try Tool.account(in: container)

            let (issuer, token) = try await server.run { issuer in
                let refused = try await account(
                    "login", "--issuer", issuer, "--username", "alice", "--password-stdin", input: "wrong\n")
                #expect(refused.exitCode == 77, "\(refused)")
                #expect(!container.exists(container.archive))

                try await signIn(account, issuer)
                let verified = try await account("whoami", "--verify", "--json")
                let report = try verified.document()
                #expect(verified.exitCode == 0)
                #expect(report.account?.username == "alice")
                #expect(report.account?.profile?["email"] == .text("alice@example.com"))
                #expect(report.account?.profile?["name"] == .text("Alice Liddell"))

                // All access tokens have expired at the service, but still look valid locally.
                let before = try await account.storedToken()
                try await server.expireAll()
                let silent = try await account("whoami", "--max-age", "0")
                #expect(silent.exitCode == 0)
                #expect(silent.output == "alice\n")
                #expect(silent.errors == "")
                let after = try await account.storedToken()
                #expect(after != before)
                #expect(try await accepts(after, issuer))
                return (issuer, after)
            }

            let offline = try await account("whoami", "--max-age", "0", "--json")
            #expect(offline.exitCode == 0)
            #expect(try offline.document().reason == "offline")
            #expect(try offline.document().account?.username == "alice")

            let port = try #require(URL(string: issuer)?.port)
            try await server.run(port: port) { _ in
                let back = try await account("whoami", "--verify")
                #expect(back.exitCode == 0)
                #expect(back.output == "alice\n")
                #expect(try await account.storedToken() == token)

                try await server.revokeAll()
                let ended = try await account("whoami", "--max-age", "0")
                #expect(ended.exitCode == 77)
                #expect(ended.output == "")
                #expect(ended.errors.contains("\(issuer) ended this session "))
                #expect(!container.exists(container.archive))
                let report = try await account("whoami", "--json").document()
                #expect(report.reason == "sessionEnded")
                #expect(report.endedBy == issuer)
                #expect(report.endedAt != nil)

                try await signIn(account, issuer)
                let last = try await account.storedToken()
                try #require(try await accepts(last, issuer))
                let signedOut = try await account("logout", "--json")
                #expect(signedOut.exitCode == 0)
                #expect(signedOut.output.contains(#""revocation":"done""#))
                // Only the RFC 8414 document contains this server's revocation endpoint.
                #expect(try await !accepts(last, issuer))
            }
        }
    }
}
