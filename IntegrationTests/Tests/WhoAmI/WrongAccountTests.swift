@testable import EndToEndSupport
import Foundation
import Testing

/// A service that reports another user as the owner of the stored token.
@Suite(.queued)
struct WrongAccountTests {
    /// Runs each command that prints a token or passes it to another program, and expects no token.
    private func expectNoToken(_ user: SignedInUser) async throws {
        let file = user.container.path("token")
        for words in [
            ["token"], ["token", "--min-validity", "0"], ["token", "--json"], ["token", "--id-token"],
            ["token", "--scope", "openid"], ["exec", "--", "printenv", "ACCOUNT_TOKEN"],
            ["keep", "--once", "--file", file], ["keep", "--once", "--id-token", "--file", file],
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

    @Test(arguments: ["sub", "iss", "aud"])
    func `Keeps the old tokens if a refresh returns a mismatched ID token`(claim: String) async throws {
        try await SignedInUser.run { user in
            let token = try await user.account.storedToken()
            let other = claim == "iss" ? "https://elsewhere.example" : ExampleServer.bobID
            let lie = try user.server.idToken(setting: [claim: .text(other)])
            try await user.server.alter(.token, setting: ["id_token": .text(lie)])
            let refresh = try await user.account("refresh")
            #expect(refresh.exitCode == 69, "\(refresh)")
            #expect(refresh.errors.contains("the stored token belongs to another user"), "\(refresh)")
            // Let user info fail, too.
            try await user.server.setFaults(Fault(path: "/oauth/userinfo", status: 503))
            let offline = try await user.account("whoami", "--offline", "--json").document()
            #expect(offline.reason == "wrongAccount")
            #expect(offline.account?.username == "alice")
            try await expectNoToken(user)

            // Once user info identifies the owner again, commands print the old token.
            try await user.server.clearFaults()
            #expect(try await user.account.storedToken() == token)
            #expect(try await user.account("whoami", "--offline", "--json").document().reason == "notChecked")
        }
    }

    @Test func `Prints no token after user info identified another user`() async throws {
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
        }
    }

    static let lies: [(name: String, value: JSON, exitCode: Int32)] = [
        ("iss", .text("https://elsewhere.example"), 78), ("aud", .text("another"), 78),
        ("sub", .text("u-somebody-else"), 69),
    ]

    @Test(arguments: lies)
    func `Rejects a password or device sign-in with a mismatched ID token`(
        lie: (name: String, value: JSON, exitCode: Int32)
    ) async throws {
        try await SignedInUser.run(serverOptions: ["--device-interval", "1"]) { user in
            try await user.server.alter(.idToken, setting: [lie.name: lie.value])
            let before = try user.container.entry(user.container.archive)
            let password = try await user.account(
                "login", "--username", "bob", "--password-stdin", input: ExampleServer.bobPassword + "\n")
            #expect(password.exitCode == lie.exitCode, "\(password)")
            let device = try await user.account.logInOnDevice(at: user.server)
            #expect(device.exitCode == lie.exitCode, "\(device)")
            #expect(try user.container.entry(user.container.archive) == before)
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
        }
    }
}
