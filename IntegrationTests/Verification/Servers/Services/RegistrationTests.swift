@testable import EndToEndSupport
import Foundation
import Testing

/// Signing in by URL, with a registration or a client ID metadata document, at services that are not part of this
/// project.
@Suite(.queued(minutes: 15))
struct RegistrationTests {
    private func registrations(in container: Container) throws -> [String] {
        try container.files().keys.filter { $0.contains("/Clients/Client-") }
    }

    /// Expects that eight processes whose token is about to expire send one refresh request. The tokens of these
    /// services are valid for an hour.
    ///
    /// - Parameter count: Returns the number of refreshes at the service.
    private func expectOneExchange(
        of account: Tool, in container: Container, counting count: () async throws -> Int
    ) async throws {
        let before = try await count()
        let late = try await WrongClock(in: container).tool(account, ahead: 3300)
        try await late.expectOneNewToken(minimumValidity: 600, inProcesses: 8)
        #expect(try await count() == before + 1)
    }

    private struct DjangoUser {
        let account: Tool
        let container: Container
        let server: DjangoServer
        let api: String
        let browser: Browser
        /// The client of the sign-in.
        let client: String
    }

    /// Runs a test with alice signed in at django-oauth-toolkit with only the URL of an API.
    private func runAtDjango(
        _ arguments: [String], _ test: (DjangoUser) async throws -> Void
    ) async throws {
        try await Container.run { container in
            let server = try await DjangoServer(in: container)
            let account = try Tool.account(in: container)
            try await server.run { issuer in
                let api = issuer.replacing(/\/o$/, with: "") + "/api"
                try await Browser.run(in: container) { browser in
                    let login = try await account.logIn(
                        with: browser, following: DjangoPages.signIn() + DjangoPages.approve, [api] + arguments)
                    try #require(login.outcome.exitCode == 0, "\(login.outcome)")
                    try await test(
                        DjangoUser(
                            account: account, container: container, server: server, api: api, browser: browser,
                            client: login.address.client))
                }
            }
        }
    }

    @Test func `Registers with django-oauth-toolkit, and updates and removes it`() async throws {
        try await runAtDjango(["--no-default-scopes", "--scope", "read"]) { alice in
            let login = try await alice.account.logIn(
                with: alice.browser, following: DjangoPages.approve, ["--step-up", "--scope", "write"])
            try #require(login.outcome.exitCode == 0, "\(login.outcome)")
            #expect(login.address.client == alice.client)
            #expect(try await alice.account("status").output.contains("read write"))
            #expect(try await alice.account("refresh").exitCode == 0)

            try await expectOneExchange(of: alice.account, in: alice.container) {
                try await alice.server.refreshCount() ?? 0
            }
            let token = try await alice.account.storedToken()
            #expect(try await HTTP.get(alice.api, bearer: token).status == 200)
            #expect(try registrations(in: alice.container).count == 1)
            #expect(try await alice.account("logout").exitCode == 0)
            #expect(try registrations(in: alice.container).isEmpty)
            #expect(try await HTTP.get(alice.api, bearer: token).status != 200)
            #expect(try await alice.server.liveTokenCount() == 0)
        }
    }

    /// User info refuses a token that is for the API only, and this refusal neither ends nor refreshes the session.
    @Test func `Uses a client metadata document at django-oauth-toolkit`() async throws {
        try await runAtDjango(["--client-metadata-url", "https://app.example.com/client.json"]) { alice in
            #expect(try registrations(in: alice.container).isEmpty)
            let (account, server, api) = (alice.account, alice.server, alice.api)
            #expect(try await HTTP.get(api, bearer: try await account.storedToken()).status == 200)
            let before = try await server.refreshCount() ?? 0
            let name = try await account("whoami", "--max-age", "0")
            #expect(name.exitCode == 0 && name.output == "alice\n", "\(name)")
            #expect(try await server.refreshCount() == before)
            try await server.expireAll()
            #expect(try await HTTP.get(api, bearer: try await account.storedToken()).status != 200)
            let refresh = try await account("refresh")
            #expect(refresh.exitCode == 0, "\(refresh)")
            #expect(try await HTTP.get(api, bearer: try await account.storedToken()).status == 200)
            try await alice.server.revokeAll()
            #expect(try await alice.account("refresh").exitCode == 77)
        }
    }

    @Test func `Registers with nanoidp, and removes the registration`() async throws {
        try await Container.run { container in
            let server = try await NanoIDPServer(in: container)
            try await server.run { issuer in
                let account = try Tool.account(in: container)
                func signIn() async throws {
                    try await Browser.run(in: container) { browser in
                        let login = try await account.logIn(with: browser, following: NanoIDPPages.signIn, [issuer])
                        try #require(login.outcome.exitCode == 0, "\(login.outcome)")
                    }
                    #expect(try registrations(in: container).count == 1)
                }
                try await signIn()
                let first = try await account.storedToken()
                #expect(try await HTTP.get(issuer + "/userinfo", bearer: first).status == 200)
                try await expectOneExchange(of: account, in: container) { try await server.refreshCount(at: issuer) }
                #expect(try await account.verify().output == "alice\n")
                let token = try await account.storedToken()
                #expect(try await account("logout").exitCode == 0)
                #expect(try registrations(in: container).isEmpty)
                #expect(try await HTTP.get(issuer + "/userinfo", bearer: token).status == 401)

                try await signIn()
                try await server.removeAlice(at: issuer)
                #expect(try await account("refresh").exitCode == 77)
                #expect(!container.exists(container.archive))
            }
        }
    }

    @Test func `Registers with Glewlwyd, and removes the registration`() async throws {
        try await Container.run { container in
            let server = GlewlwydServer(in: container)
            try await server.run { issuer in
                let account = try Tool.account(in: container)
                try await Browser.run(in: container) { browser in
                    let login = try await account.logIn(
                        with: browser, following: GlewlwydPages.signIn + GlewlwydPages.grant + GlewlwydPages.goOn,
                        [issuer])
                    try #require(login.outcome.exitCode == 0, "\(login.outcome)")
                }
                #expect(try registrations(in: container).count == 1)
                let verified = try await account.verify()
                #expect(verified.output == "Alice Liddell\n", "\(verified)")
                try await expectOneExchange(of: account, in: container) {
                    try server.eventCount("Access token generated")
                }
                let refreshed = try await account.verify()
                #expect(refreshed.output == "Alice Liddell\n", "\(refreshed)")

                // The response to a revoked refresh token is an empty 400 response, which may have another reason.
                try await server.revokeAll(at: issuer)
                let refresh = try await account("refresh")
                #expect(refresh.exitCode == 69, "\(refresh)")
                #expect(refresh.errors.contains("you are still signed in"), "\(refresh)")
                let token = try await account.storedToken()
                #expect(try await account("logout").exitCode == 0)
                #expect(try registrations(in: container).isEmpty)
                #expect(try server.eventCount("registered with redirect_uri") == 1)
                #expect(try server.eventCount("' deleted, origin") == 1)
                #expect(try await HTTP.get(issuer + "/userinfo", bearer: token).status == 401)
            }
        }
    }
}
