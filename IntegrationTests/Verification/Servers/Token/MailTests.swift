@testable import EndToEndSupport
import Foundation
import Testing

/// Mail programs with a session's token, by XOAUTH2: msmtp(1) and a server that requires it, as in the article *Mail*.
@Suite(.queued)
struct MailTests {
    /// alice's msmtp, set up as the article describes.
    private func msmtp(_ account: Tool, _ server: MailServer, in container: Container) throws -> Tool {
        let settings = """
            account work
            host 127.0.0.1
            port \(server.port)
            tls on
            tls_trust_file \(server.certificate.path)
            from alice@example.com
            auth xoauth2
            user alice
            passwordeval "'\(account.path)' token"

            account default : work

            """
        let file = container.path("msmtprc")
        try container.write(settings.utf8, to: file)
        return Tool(path: "msmtp", environment: account.environment, prefix: ["-C", file])
    }

    private func letter(_ subject: String) -> String { "To: bob@example.com\nSubject: \(subject)\n\nHello.\n" }

    @Test func `msmtp sends mail with the token before and after a refresh`() async throws {
        try await SignedInUser.run { user in
            try await MailServer.run(trusting: user.server, in: user.container) { server in
                let msmtp = try msmtp(user.account, server, in: user.container)
                let first = try await msmtp("bob@example.com", input: letter("First"))
                #expect(first.exitCode == 0, "\(first)")
                try await user.server.expireTokens()
                // msmtp cannot report a rejected token to AccountKit.
                #expect(try await msmtp("bob@example.com", input: letter("Refused")).exitCode == 77)
                #expect(try await user.account("refresh").exitCode == 0)
                let second = try await msmtp("bob@example.com", input: letter("Second"))
                #expect(second.exitCode == 0, "\(second)")
                let subjects = try server.messages().compactMap { $0.firstMatch(of: /Subject: (\w+)/)?.1 }
                #expect(subjects.sorted() == ["First", "Second"])
                let token = try await user.account.storedToken()
                #expect(try server.messages().allSatisfy { !$0.contains(token) })
            }
        }
    }

    @Test func `Without a token, msmtp sends no mail and prints the reason`() async throws {
        try await SignedInUser.run { user in
            try await MailServer.run(trusting: user.server, in: user.container) { server in
                let msmtp = try msmtp(user.account.dynamic, server, in: user.container)
                // Simulate a day later, without the network.
                let clock = try await WrongClock(in: user.container)
                try await user.server.setFaults(Fault(path: "*", disconnect: .before))
                let offline = try await clock.run(
                    msmtp, ahead: 86_400, ["bob@example.com"], input: letter("Never"))
                #expect(
                    offline.exitCode == 78 && offline.errors.contains("you are still signed in"), "\(offline)")
                try await user.server.clearFaults()

                #expect(try await user.account("logout").exitCode == 0)
                let signedOut = try await msmtp("bob@example.com", input: letter("Never"))
                #expect(
                    signedOut.exitCode == 78 && signedOut.errors.contains("Sign in with `account login`."),
                    "\(signedOut)")
                #expect(try server.messages() == [])
            }
        }
    }
}
