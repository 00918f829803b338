@testable import EndToEndSupport
import Testing

/// Signing in, refreshing and signing out at nanoidp, whose refresh tokens are single-use.
@Suite(.queued(minutes: 15))
struct NanoIDPTests {
    private struct Newcomer {
        let account: Tool
        let issuer: String
        let browser: Browser
    }

    private func run(_ test: (Newcomer) async throws -> Void) async throws {
        try await Container.run { container in
            try await NanoIDPServer(in: container).run { issuer in
                try await Browser.run(in: container) { browser in
                    try await test(
                        Newcomer(account: try .account(in: container), issuer: issuer, browser: browser))
                }
            }
        }
    }

    private func expectRevoked(_ account: Tool, at issuer: String) async throws {
        let token = try await account.storedToken()
        let logout = try await account("logout", "--json")
        #expect(logout.exitCode == 0, "\(logout)")
        #expect(logout.output.contains(#""revocation":"done""#), "\(logout)")
        #expect(try await HTTP.get(issuer + "/userinfo", bearer: token).status == 401)
    }

    @Test(arguments: ["account-cli-public", "account-cli-secret"])
    func `Signs in with the browser, with and without a client secret`(client: String) async throws {
        try await run { alice in
            let hasSecret = client == "account-cli-secret"
            let account = hasSecret ? alice.account.with("ACCOUNT_CLIENT_SECRET", NanoIDPServer.secret) : alice.account
            let login = try await account.logIn(
                with: alice.browser, following: NanoIDPPages.signIn,
                ["--issuer", alice.issuer, "--client-id", client])
            #expect(login.outcome.exitCode == 0, "\(login.outcome)")
            #expect(login.page.heading == "You are signed in")
            try await account.expectNoneSpentTwice(by: "alice")
            try await expectRevoked(account, at: alice.issuer)
        }
    }

    @Test func `Derived tokens have only the requested audience and keep the session`() async throws {
        try await run { alice in
            let (a, b) = ("https://a.example/", "https://b.example/")
            let login = try await alice.account.logIn(
                with: alice.browser, following: NanoIDPPages.signIn,
                ["--issuer", alice.issuer, "--client-id", "account-cli-public", "--resource", a, "--resource", b])
            #expect(login.outcome.exitCode == 0, "\(login.outcome)")
            let own = try await alice.account.storedToken()
            let tokens = try await withThrowingTaskGroup { group in
                for number in 0..<8 {
                    group.addTask { try await alice.account("token", "--resource", number.isMultiple(of: 2) ? a : b) }
                }
                var tokens: Set<String> = []
                for try await outcome in group {
                    #expect(outcome.exitCode == 0, "\(outcome)")
                    tokens.insert(outcome.output)
                }
                return tokens
            }
            let audiences = try tokens.map { try claims(of: $0)["aud"] }
            #expect(tokens.count == 2)
            for resource in [a, b] { #expect(audiences.contains(.text(resource)), "\(audiences)") }
            #expect(try await alice.account.storedToken() == own)

            let other = try await alice.account("token", "--resource", "https://c.example/")
            #expect(other.exitCode == 78, "\(other)")
            // A refresh for this resource would spend the refresh token without a result.
            #expect(other.errors.contains("you did not sign in for the resource https://c.example/"))
            let exchange = try await alice.account("token", "--audience", "api")
            #expect(exchange.exitCode == 78, "\(exchange)")
            try await alice.account.expectNoneSpentTwice(by: "alice")
            try await expectRevoked(alice.account, at: alice.issuer)
        }
    }

    @Test func `Signs in with a code on another device`() async throws {
        try await run { alice in
            let words = ["login", "--device", "--client-id", "account-cli-public", "--issuer", alice.issuer]
            let outcome = try await alice.account.command(words).whileRunning { login in
                let shown = try await login.errors.match {
                    $0.firstMatch(of: /\n +(http\S+)\n(?:.|\n)*?\n +([A-Z0-9]{8})\n/)
                        .map { (String($0.1), String($0.2)) }
                }
                try await alice.browser.open(shown.0)
                try await alice.browser.follow(NanoIDPPages.enterCode(shown.1))
            }
            #expect(outcome.exitCode == 0, "\(outcome)")
            try await alice.account.expectNoneSpentTwice(by: "alice")
            try await expectRevoked(alice.account, at: alice.issuer)
        }
    }
}
