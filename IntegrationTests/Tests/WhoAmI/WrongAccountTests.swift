@testable import EndToEndSupport
import Foundation
import Testing

/// A service that reports another user as the owner of the stored token: no command hands out the token. The rules are
/// in `WrongAccountTests` of AccountKit, and the table of claims in `IDTokenOfGrantTests`.
@Suite(.queued)
struct WrongAccountTests {
    /// Runs each command that prints a token or passes it to another program, and expects no token.
    private func expectNoToken(_ user: SignedInUser) async throws {
        let file = user.container.path("token")
        for words in [
            ["token", "--json"], ["token", "--id-token"], ["token", "--scope", "openid"],
            ["exec", "--", "printenv", "ACCOUNT_TOKEN"], ["keep", "--once", "--file", file],
            ["kube-credential", "--any-cluster", "--id-token"],
        ] {
            let outcome = try await user.account.run(words)
            #expect(outcome.exitCode == 69, "\(outcome)")
            #expect(!outcome.output.contains("at_") && !outcome.output.contains("e30."), "\(outcome)")
            #expect(!FileManager.default.fileExists(atPath: file))
        }
        #expect(try await user.account("rule", "add", "https://git.example.com").exitCode == 0)
        let git = try await user.account(
            "git-credential", "get", input: "protocol=https\nhost=git.example.com\n\n")
        #expect(!git.output.contains("password"), "\(git)")
    }

    @Test func `Prints no token after user info or a refresh identified another user`() async throws {
        try await SignedInUser.run { user in
            let token = try await user.account.storedToken()
            try await user.server.alter(.userInfo, setting: ["sub": .text(ExampleServer.bobID)])
            let verified = try await user.account("whoami", "--verify", "--json")
            #expect(verified.exitCode == 69, "\(verified)")
            #expect(try verified.document().reason == "wrongAccount")
            try await expectNoToken(user)
            try await user.server.alter(.userInfo)
            #expect(try await user.account("whoami", "--verify").exitCode == 0)
            #expect(try await user.account.storedToken() == token)

            let lie = try user.server.idToken(setting: ["sub": .text(ExampleServer.bobID)])
            try await user.server.alter(.token, setting: ["id_token": .text(lie)])
            let refresh = try await user.account("refresh")
            #expect(refresh.exitCode == 69, "\(refresh)")
            #expect(refresh.errors.contains("the stored token belongs to another user"), "\(refresh)")
            // Let user info fail, too.
            try await user.server.setFaults(Fault(path: "/oauth/userinfo", status: 503))
            let offline = try await user.account("whoami", "--offline", "--json").document()
            #expect(offline.reason == "wrongAccount")
            #expect(offline.account?.username == "alice")
            #expect(try await user.account("token").exitCode == 69)
            // Once user info identifies the owner again, commands print the token of that refresh.
            try await user.server.clearFaults()
            try await user.server.alter(.token)
            let new = try await user.account.storedToken()
            #expect(new != token)
            #expect(try await user.server.accepts(new))
            // The refresh token of that response was stored, too.
            #expect(try await user.account("refresh").exitCode == 0)
            let log = try await user.server.log()
            #expect(log["rotations"] == 2 && log["reuseAlarms"] == 0)
        }
    }

    @Test func `Rejects a sign-in with an ID token of another user or issuer`() async throws {
        try await SignedInUser.run { user in
            let before = try user.container.entry(user.container.archive)
            for (claim, value, exitCode) in [
                ("iss", "https://elsewhere.example", 78), ("sub", "u-somebody-else", 69),
            ] as [(String, String, Int32)] {
                try await user.server.alter(.idToken, setting: [claim: .text(value)])
                let login = try await user.account(
                    "login", "--username", "bob", "--password-stdin", input: ExampleServer.bobPassword + "\n")
                #expect(login.exitCode == exitCode, "\(login)")
            }
            #expect(try user.container.entry(user.container.archive) == before)
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
        }
    }
}
