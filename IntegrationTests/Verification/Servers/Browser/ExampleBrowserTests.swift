@testable import EndToEndSupport
import Testing

/// Signing in with a browser at the example server, which sends wrong data if a test requests this.
@Suite(.queued(minutes: 10))
struct ExampleBrowserTests {
    private func run(
        _ serverOptions: [String] = [], _ test: (SignedInUser, Browser) async throws -> Void
    ) async throws {
        try await SignedInUser.run(serverOptions: serverOptions) { user in
            try await Browser.run(in: user.container) { browser in try await test(user, browser) }
        }
    }

    @Test func `Signs in after a mistyped password on the service's page`() async throws {
        try await run { user, browser in
            let login = try await user.account.logIn(
                with: browser,
                // The page keeps the user name, so type only the password again.
                following: ExampleServer.signInSteps("bob", "wrong") + [.see("[role=alert]")]
                    + ExampleServer.signInSteps("", ExampleServer.bobPassword), [])
            #expect(login.outcome.exitCode == 0, "\(login.outcome)")
            #expect(login.page.heading == "You are signed in")
            try await browser.expectNothingSecret(after: login, of: user.account)
            try await browser.expectNothingElse(on: login.page)
            #expect(try await user.account("whoami", "--verify").output == "bob\n")
            #expect(try await user.account("refresh").exitCode == 0)
        }
    }

    @Test func `Keeps the session if the user denies a browser sign-in`() async throws {
        try await run { user, browser in
            let login = try await user.account.logIn(
                with: browser, following: ExampleServer.signInSteps("bob", "", decision: "deny"), [])
            #expect(login.outcome.exitCode == 77, "\(login.outcome)")
            #expect(login.page.heading != "You are signed in")
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
        }
    }

    /// Wrong claims of the ID token, and the resulting exit codes.
    static let lies: [(name: String, value: JSON, exitCode: Int32)] = [
        ("nonce", .text("another"), 69), ("iss", .text("https://elsewhere.example"), 78), ("aud", .text("another"), 78),
        ("exp", .integer(1_000_000_000), 69), ("sub", .text("u-somebody-else"), 69),
    ]

    @Test(arguments: lies)
    func `Rejects an ID token with wrong claims`(
        lie: (name: String, value: JSON, exitCode: Int32)
    ) async throws {
        try await run { user, browser in
            try await user.server.alter(.idToken, setting: [lie.name: lie.value])
            let login = try await user.account.logIn(
                with: browser, following: ExampleServer.signInSteps("bob", ExampleServer.bobPassword), [])
            #expect(login.outcome.exitCode == lie.exitCode, "\(login.outcome)")
            #expect(login.page.heading != "You are signed in")
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
        }
    }

    @Test(arguments: [["--refresh-rotation", "off"], ["--reuse-detection", "off"]])
    func `Ten commands refresh once without token rotation or reuse detection`(
        options: [String]
    ) async throws {
        try await run(options) { user, browser in
            let login = try await user.account.logIn(
                with: browser, following: ExampleServer.signInSteps("bob", ExampleServer.bobPassword), [])
            #expect(login.outcome.exitCode == 0, "\(login.outcome)")
            try await user.server.expireTokens()
            try await withThrowingTaskGroup { group in
                for _ in 1...10 { group.addTask { try await user.account("whoami", "--max-age", "0") } }
                for try await outcome in group { #expect(outcome.output == "bob\n", "\(outcome)") }
            }
            let log = try await user.server.log()
            #expect(log["refreshes"] == 1)
            #expect(log["reuseAlarms"] == 0)
            #expect(try await user.account("refresh").exitCode == 0)
            #expect(try await user.account("whoami", "--verify").output == "bob\n")
        }
    }
}
