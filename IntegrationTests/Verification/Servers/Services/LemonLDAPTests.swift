@testable import EndToEndSupport
import Foundation
import Testing

/// Signing in, refreshing and signing out at LemonLDAP::NG, whose refresh tokens do not rotate, and which has no
/// revocation endpoint.
///
/// The tests are serialized, since the tests with a browser need the port of the registered redirect URI.
@Suite(.queued(minutes: 15), .lemonLDAP, .serialized)
struct LemonLDAPTests {
    private func run(_ test: (LemonLDAPServer, Tool, Container) async throws -> Void) async throws {
        let server = try LemonLDAPServer.shared
        try await Container.run { try await test(server, try .account(in: $0), $0) }
    }

    private func runSignedIn(_ test: (LemonLDAPServer, Tool, Container) async throws -> Void) async throws {
        try await run { server, account, container in
            let outcome = try await account(
                "login", "--issuer", server.issuer, "--client-id", "account-cli-public", "--username", "dwho",
                "--password-stdin", input: "dwho\n")
            try #require(outcome.exitCode == 0, "\(outcome)")
            try await test(server, account, container)
        }
    }

    private func expectVerified(_ account: Tool) async throws {
        let outcome = try await account("whoami", "--verify")
        #expect(outcome.exitCode == 0 && outcome.output == "dwho\n", "\(outcome)")
    }

    @Test func `Signs in with the browser`() async throws {
        try await run { server, account, container in
            let steps: [Browser.Step] = [
                .type("dwho", into: "#userfield"), .type("dwho", into: "#passwordfield"),
                .press("#lform button[type=submit]"), .press("#form button.btn-success"),
            ]
            let options = ["--client-id", "account-cli-public", "--redirect-uri", server.redirectURI]
            let login = try await Browser.run(in: container) {
                try await account.logIn(with: $0, following: steps, ["--issuer", server.issuer] + options)
            }
            #expect(login.outcome.exitCode == 0, "\(login.outcome)")
            #expect(login.page.heading == "You are signed in")
            try await expectVerified(account)
        }
    }

    @Test func `Signs in with a password, and keeps the only refresh token`() async throws {
        try await runSignedIn { server, account, container in
            try await expectVerified(account)
            var tokens: Set<String> = []
            for _ in 1...3 {
                let outcome = try await account("refresh")
                #expect(outcome.exitCode == 0, "\(outcome)")
                tokens.insert(try await account.storedToken())
            }
            #expect(tokens.count == 3)
            try await expectVerified(account)

            // The service has no revocation endpoint.
            let logout = try await account("logout")
            #expect(logout.exitCode == 0, "\(logout)")
            #expect(logout.errors.contains("open \(server.issuer)/oauth2/logout"), "\(logout)")
            #expect(!container.exists(container.archive))
        }
    }

    /// The service sends the first code if the user refuses.
    @Test func `Signs no user in if the service requires user interaction`() async throws {
        try await run { server, account, container in
            let options = ["--client-id", "account-cli-public", "--redirect-uri", server.redirectURI]
            let login = try await account.logIn(["--issuer", server.issuer] + options) { address in
                let address = try AuthorizationAddress(address)
                let query = "error=consent_required&error_description=consent+not+given&state=\(address.state)"
                _ = try await HTTP.get(address.callback + "?" + query)
            }
            #expect(login.exitCode == 77, "\(login)")
            #expect(login.errors.contains("consent_required: consent not given"), "\(login)")
            #expect(!container.exists(container.archive))
        }
    }

    /// The service responds with `invalid_request` to a refresh token that it has deleted.
    @Test func `Advises to sign in again if the service deleted the refresh token`() async throws {
        try await runSignedIn { server, account, container in
            try server.removeTokens(of: server.userSession(of: try await account.storedToken()))
            let first = try await account("refresh")
            #expect(first.exitCode == 78 && !first.errors.contains("has refused to refresh"), "\(first)")
            // Backdate the record by two minutes.
            let record = container.archive.replacing("Account.plist", with: "Refresh.plist")
            var fields = try #require(
                try PropertyListSerialization.propertyList(
                    from: Data(contentsOf: URL(filePath: record)), format: nil) as? [String: Any])
            try #require(fields["nextTry"] is Date && fields["refusedSince"] is Date, "\(fields)")
            for (name, value) in fields where value is Date { fields[name] = Date.now.addingTimeInterval(-120) }
            try PropertyListSerialization.data(fromPropertyList: fields, format: .binary, options: 0)
                .write(to: URL(filePath: record))
            let second = try await account("refresh")
            #expect(second.exitCode == 78, "\(second)")
            for outcome in [
                second, try await account("whoami", "--max-age", "0"),
                try await account("token", "--min-validity", "36000"),
                try await account("status"), try await account("doctor"),
            ] {
                let text = outcome.output + outcome.errors
                #expect(text.contains("has refused to refresh this session since"), "\(outcome)")
                #expect(text.contains("sign in again with `account login`"), "\(outcome)")
            }
            #expect(container.exists(container.archive))
        }
    }

    @Test func `Accepts signed user info`() async throws {
        try await run { server, account, _ in
            let words = ["login", "--issuer", server.issuer, "--client-id", "account-cli-signed", "--username", "dwho"]
            let login = try await account.run(words + ["--password-stdin"], input: "dwho\n")
            #expect(login.exitCode == 0, "\(login)")
            try await expectVerified(account)
        }
    }

    @Test func `Lists other sign-in methods if the service does not offer device flow`() async throws {
        try await run { server, account, _ in
            let words = ["login", "--device", "--issuer", server.issuer, "--client-id", "account-cli-public"]
            let login = try await account.run(words)
            #expect(login.exitCode == 78, "\(login)")
            #expect(login.errors.contains("--web") && login.errors.contains("--password"), "\(login)")
        }
    }

    @Test func `Signs out if the user's session at the service has ended`() async throws {
        try await runSignedIn { server, account, container in
            try server.remove(server.userSession(of: try await account.storedToken()))
            let ended = try await account("whoami", "--max-age", "0")
            #expect(ended.exitCode == 77, "\(ended)")
            #expect(ended.errors.contains("\(server.issuer) ended this session "), "\(ended)")
            #expect(!container.exists(container.archive))
        }
    }
}
