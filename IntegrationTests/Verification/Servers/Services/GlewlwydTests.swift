@testable import EndToEndSupport
import Foundation
import Testing

/// Signing in, refreshing and signing out at Glewlwyd, which compares redirect URIs exactly, supports client secrets,
/// and allows only clients with a secret to revoke tokens.
@Suite(.queued(minutes: 15))
struct GlewlwydTests {
    private struct Newcomer {
        let container: Container
        let account: Tool
        let issuer: String
        let redirectURI: String

        /// Signs in on the service's pages.
        func logIn(_ client: String, tool: Tool? = nil, options: [String] = []) async throws -> BrowserLogin {
            try await Browser.run(in: container) { browser in
                try await (tool ?? account).logIn(
                    with: browser, following: GlewlwydPages.signIn + GlewlwydPages.grant + GlewlwydPages.goOn,
                    ["--issuer", issuer, "--client-id", client, "--redirect-uri", redirectURI] + options)
            }
        }
    }

    private func run(_ options: [String] = [], _ test: (Newcomer) async throws -> Void) async throws {
        try await Container.run { container in
            let server = GlewlwydServer(in: container)
            let redirectURI = "http://127.0.0.1:\(try FreePort.find())/callback"
            try await server.run(redirectURIs: [redirectURI], options: options) { issuer in
                try await test(
                    Newcomer(
                        container: container, account: try .account(in: container), issuer: issuer,
                        redirectURI: redirectURI))
            }
        }
    }

    @Test func `Signs in with the browser at the registered redirect URI`() async throws {
        try await run { alice in
            let login = try await alice.logIn("account-cli-public")
            #expect(login.outcome.exitCode == 0, "\(login.outcome)")
            #expect(login.address.callback == alice.redirectURI)
            #expect(login.page.heading == "You are signed in")
            #expect(try await alice.account.verify().output == "Alice Liddell\n")
            try await alice.account.expectNoneSpentTwice(by: "Alice Liddell")
            // A client without a secret may not revoke.
            let logout = try await alice.account("logout", "--json")
            #expect(logout.exitCode == 0, "\(logout)")
            #expect(logout.output.contains(#""revocation":"refused""#), "\(logout)")
            #expect(!alice.container.exists(alice.container.archive))
        }
    }

    @Test func `Signs in with a code on another device`() async throws {
        try await run { alice in
            let words = ["login", "--device", "--client-id", "account-cli-public", "--issuer", alice.issuer]
            let outcome = try await alice.account.command(words).whileRunning { login in
                let shown = try await login.errors.match {
                    $0.firstMatch(of: /\n +(http\S+)\n(?:.|\n)*?\n +([A-Z0-9]{4}-[A-Z0-9]{4})\n/)
                        .map { (String($0.1), String($0.2)) }
                }
                try await Browser.run(in: alice.container) { browser in
                    try await browser.open(shown.0)
                    // The page requires first the code and then the sign-in.
                    try await browser.follow(
                        GlewlwydPages.enterCode(shown.1) + GlewlwydPages.signIn + GlewlwydPages.grant
                            + GlewlwydPages.goOn)
                }
            }
            #expect(outcome.exitCode == 0, "\(outcome)")
            try await alice.account.expectNoneSpentTwice(by: "Alice Liddell")
        }
    }

    // The service's discovery document lists both methods, so AccountKit sends the secret in the header. A client that
    // may send the secret only in the form cannot sign in.
    @Test func `Signs in, refreshes and revokes with a client secret`() async throws {
        try await run { alice in
            let account = alice.account.with("ACCOUNT_CLIENT_SECRET", GlewlwydServer.secret)
            let login = try await alice.logIn("account-cli-secret", tool: account)
            #expect(login.outcome.exitCode == 0, "\(login.outcome)")
            try await account.expectNoneSpentTwice(by: "Alice Liddell")
            let token = try await account.storedToken()
            let logout = try await account("logout", "--json")
            #expect(logout.exitCode == 0, "\(logout)")
            #expect(logout.output.contains(#""revocation":"done""#), "\(logout)")
            #expect(try await HTTP.get(alice.issuer + "/userinfo", bearer: token).status == 401)
        }
    }

    /// The audience of assertions is the token endpoint. The service accepts no assertion for a revocation.
    @Test func `Signs in as a client without a user, with a secret and with a key`() async throws {
        try await Container.run { container in
            let keys = try await ClientKeyPair("EdDSA", in: container)
            try await run(["--public-key", keys.publicKey]) { service in
                let account = service.account.with("ACCOUNT_CLIENT_SECRET", GlewlwydServer.secret)
                try await expectClientSession(account, "account-cli-secret", at: service.issuer)
                let revoked = try await account("logout", "--json")
                #expect(revoked.output.contains(#""revocation":"done""#), "\(revoked)")

                let audience = service.issuer + "/token"
                try await expectClientSession(
                    service.account, "account-cli-key", at: service.issuer,
                    ["--client-key", keys.privateKey, "--client-assertion-audience", audience])
                let logout = try await service.account("logout", "--json")
                #expect(logout.output.contains(#""revocation":"refused""#), "\(logout)")
            }
        }
    }

    private func expectClientSession(
        _ account: Tool, _ client: String, at issuer: String, _ options: [String] = []
    ) async throws {
        let words = ["login", "--client-credentials", "--issuer", issuer, "--client-id", client, "--scope", "reports"]
        let login = try await account.run(words + options)
        #expect(login.exitCode == 0, "\(login)")
        let whoami = try await account("whoami", "--verify")
        #expect(whoami.output == client + "\n", "\(whoami)")
        let refresh = try await account("refresh")
        #expect(refresh.exitCode == 0, "\(refresh)")
        let token = try await account("token")
        #expect(try claims(of: token.output.trimmingCharacters(in: .newlines))["scope"] == .text("reports"))
    }

    @Test(arguments: ["on", "nonces"])
    func `Binds tokens to a key, with and without nonces`(policy: String) async throws {
        try await run(["--dpop", policy]) { alice in
            let account = alice.account.with("ACCOUNT_CLIENT_SECRET", GlewlwydServer.secret)
            let login = try await alice.logIn("account-cli-secret", tool: account, options: ["--dpop"])
            #expect(login.outcome.exitCode == 0, "\(login.outcome)")
            #expect(try await account("status").output.contains("bound to a key of this session (DPoP)"))
            for _ in 1...3 { #expect(try await account("refresh").exitCode == 0) }
            let verified = try await account.verify()
            #expect(verified.output == "Alice Liddell\n", "\(verified)")
            // The service accepts no bound token without a proof.
            let url = alice.issuer + "/userinfo"
            let fields = try await account("token", "--dpop-proof", "GET", url).output
            let token = try #require(fields.firstMatch(of: /Authorization: DPoP (\S+)/)).output.1
            #expect(try await HTTP.get(url, bearer: String(token)).status == 401)
            #expect(try await account("logout", "--json").output.contains(#""revocation":"done""#))
        }
    }
}
