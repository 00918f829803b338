import Testing

/// Signing in with a browser at the example server, which can be told to lie.
@Suite(.queued(minutes: 10))
struct ExampleBrowserTests {
    private func run(
        _ serverOptions: [String] = [], _ test: (SignedInUser, Browser) async throws -> Void
    ) async throws {
        try await SignedInUser.run(serverOptions: serverOptions) { user in
            try await Browser.run(in: user.container) { browser in try await test(user, browser) }
        }
    }

    @Test func `Someone who mistypes the password can mend it, and is signed in`() async throws {
        try await run { user, browser in
            let login = try await user.account.logIn(
                with: browser,
                // The page remembers the name.
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

    @Test func `Someone who refuses keeps who is signed in`() async throws {
        try await run { user, browser in
            let login = try await user.account.logIn(
                with: browser, following: ExampleServer.signInSteps("bob", "", decision: "deny"), [])
            #expect(login.outcome.exitCode == 77, "\(login.outcome)")
            #expect(login.page.heading != "You are signed in")
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
        }
    }

    /// Lies in the ID token, and the exit code that they lead to.
    static let lies: [(name: String, value: JSON, exitCode: Int32)] = [
        ("nonce", .text("another"), 69), ("iss", .text("https://elsewhere.example"), 78), ("aud", .text("another"), 78),
        ("exp", .integer(1_000_000_000), 69), ("sub", .text("u-somebody-else"), 69),
    ]

    @Test(arguments: lies)
    func `An ID token that is not of this sign-in signs nobody in`(
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
    func `A server that does not rotate, or does not look for reuse, keeps its users too`(
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
