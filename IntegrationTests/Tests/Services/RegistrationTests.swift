import Foundation
import Testing

/// Signing in by URL, with a registration or a client ID metadata document, at services that are not part of this
/// project.
@Suite(.queued(minutes: 15))
struct RegistrationTests {
    private func registrations(in container: Container) throws -> [String] {
        try container.files().keys.filter { $0.contains("/Clients/Client-") }
    }

    /// Runs a test with alice signed in at django-oauth-toolkit with only the URL of an API.
    private func runAtDjango(
        _ arguments: [String] = [],
        _ test: (_ account: Tool, _ container: Container, _ server: DjangoServer, _ api: String) async throws -> Void
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
                }
                try await test(account, container, server, api)
            }
        }
    }

    /// User info refuses a token that is for the API only, and this refusal neither ends nor refreshes the session.
    private func expectRefresh(_ account: Tool, _ server: DjangoServer, _ api: String) async throws {
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
    }

    @Test func `Registers with django-oauth-toolkit, and removes the registration`() async throws {
        try await runAtDjango { account, container, server, api in
            try await expectRefresh(account, server, api)
            let token = try await account.storedToken()
            #expect(try registrations(in: container).count == 1)
            #expect(try await account("logout").exitCode == 0)
            #expect(try registrations(in: container).isEmpty)
            #expect(try await HTTP.get(api, bearer: token).status != 200)
        }
    }

    @Test func `Uses a client metadata document at django-oauth-toolkit`() async throws {
        try await runAtDjango(["--client-metadata-url", "https://app.example.com/client.json"]) {
            account, container, server, api in
            #expect(try registrations(in: container).isEmpty)
            try await expectRefresh(account, server, api)
            try await server.revokeAll()
            #expect(try await account("refresh").exitCode == 77)
        }
    }

    @Test func `Registers with nanoidp, and removes the registration`() async throws {
        try await Container.run { container in
            try await NanoIDPServer(in: container).run { issuer in
                let account = try Tool.account(in: container)
                try await Browser.run(in: container) { browser in
                    let login = try await account.logIn(
                        with: browser, following: NanoIDPPages.signIn, [issuer])
                    try #require(login.outcome.exitCode == 0, "\(login.outcome)")
                }
                #expect(try registrations(in: container).count == 1)
                try await withThrowingTaskGroup { group in
                    for _ in 1...8 { group.addTask { try await account("token", "--min-validity", "86400") } }
                    for try await outcome in group { #expect(outcome.exitCode == 0, "\(outcome)") }
                }
                #expect(try await account("whoami", "--verify").output == "alice\n")
                let token = try await account.storedToken()
                #expect(try await account("logout").exitCode == 0)
                #expect(try registrations(in: container).isEmpty)
                #expect(try await HTTP.get(issuer + "/userinfo", bearer: token).status == 401)
            }
        }
    }
}
