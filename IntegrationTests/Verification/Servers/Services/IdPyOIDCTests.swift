@testable import EndToEndSupport
import Foundation
import Testing

/// Tokens for other APIs at idpyoidc, which supports token exchange (RFC 8693) and refreshes with any `resource`.
@Suite(.queued(minutes: 10))
struct IdPyOIDCTests {
    private static let target = IdPyOIDCServer.target
    private static let exchange = "urn:ietf:params:oauth:grant-type:token-exchange"

    private func logIn(_ account: Tool, at server: IdPyOIDCServer, _ options: String...) async throws {
        let words = ["--issuer", server.issuer, "--client-id", "account-cli", "--redirect-uri", server.redirectURI]
        let login = try await account.logIn(words + options) { try await server.signIn(at: $0) }
        try #require(login.exitCode == 0, "\(login)")
    }

    private func token(_ account: Tool, _ words: String...) async throws -> String {
        let outcome = try await account.run(["token"] + words)
        #expect(outcome.exitCode == 0, "\(outcome)")
        #expect(outcome.errors == "")
        return outcome.output.trimmingCharacters(in: .newlines)
    }

    /// Expects a failure with the reason and without output, and expects that alice stays signed in.
    private func expectRefused(_ account: Tool, _ words: [String], _ why: String) async throws {
        let outcome = try await account.run(["token"] + words)
        #expect(outcome.exitCode == 78, "\(outcome)")
        #expect(outcome.output == "")
        #expect(outcome.errors.contains("the service does not issue this token (\(why)"), "\(outcome)")
        #expect(outcome.errors.contains("you are still signed in"), "\(outcome)")
        #expect(try await account("whoami", "--verify").output == "alice\n")
    }

    // Use one server for all steps, since the server starts slowly.
    @Test func `Obtains tokens for another API and for a client without a user`() async throws {
        try await Container.run { container in
            let keys = try await ClientKeyPair(in: container)
            try await IdPyOIDCServer.run(in: container, publicKey: keys.publicKey) { server in
                try await expectClientSessions(in: container, keys, at: server)
                let account = try Tool.account(in: container)
                try await expectExchanged(account, at: server)
                try await expectRotated(account, in: container, at: server)
                try await expectRevoked(account, at: server)
                try await expectExchangedWithoutRefreshToken(account, at: server)
            }
        }
    }

    private func expectClientSessions(in container: Container, _ keys: ClientKeyPair, at server: IdPyOIDCServer)
        async throws
    {
        let account = try Tool.account(in: container).with("ACCOUNT_CLIENT_SECRET", IdPyOIDCServer.secret)
        let before = try await server.log().count
        let audience = server.issuer + "/token"
        let options = [
            "account-cli-secret": [],
            "account-cli-key": ["--client-key", keys.privateKey, "--client-assertion-audience", audience],
        ]
        for (client, options) in options {
            let words = ["login", "--client-credentials", "--issuer", server.issuer, "--client-id", client]
            let login = try await account.run(words + ["--scope", "profile"] + options)
            #expect(login.exitCode == 0, "\(login)")
            #expect(try await account("whoami", "--verify").output == client + "\n")
            let refresh = try await account("refresh")
            #expect(refresh.exitCode == 0, "\(refresh)")
            let logout = try await account("logout", "--json")
            #expect(logout.output.contains(#""revocation":"done""#), "\(logout)")
        }
        let log = try await server.log(after: before)
        #expect(log.allSatisfy { $0.grantType == "client_credentials" && $0.status == "200" }, "\(log)")
        #expect(log.count == 6)
    }

    private func expectExchanged(_ account: Tool, at server: IdPyOIDCServer) async throws {
        // The service requires this parameter with `offline_access` (OpenID Connect Core, section 11).
        try await logIn(account, at: server, "--parameter", "prompt=consent")
        let own = try await account.storedToken()
        let before = try await server.log().count
        let words = ["--audience", Self.target]
        let tokens = try await withThrowingTaskGroup { group in
            for _ in 1...8 { group.addTask { try await account.run(["token"] + words) } }
            var tokens: Set<String> = []
            for try await outcome in group {
                #expect(outcome.exitCode == 0, "\(outcome)")
                tokens.insert(outcome.output)
            }
            return tokens
        }
        let derived = try #require(tokens.first)
        #expect(tokens.count == 1)
        #expect(try claims(of: derived)["aud"] == .list([Self.target]))
        #expect(try claims(of: own)["aud"] == .list(["account-cli"]))
        #expect(try await token(account) == own)
        #expect(try await server.accepts(own))

        let narrow = try await token(account, "--audience", Self.target, "--scope", "openid")
        #expect(try claims(of: narrow)["aud"] == .list([Self.target]))
        #expect(try claims(of: narrow)["scope"] == .text("openid"))
        try await expectRefused(account, ["--audience", "https://other.example/"], "invalid_target")
        try await expectRefused(account, words + ["--scope", "unheard"], "invalid_scope")
        #expect(
            try await server.log(after: before) == [
                .init(grantType: Self.exchange, audience: Self.target),
                .init(grantType: Self.exchange, audience: Self.target, scope: "openid"),
                .init(grantType: Self.exchange, audience: "https://other.example/", status: "400"),
                .init(grantType: Self.exchange, audience: Self.target, scope: "unheard", status: "400"),
            ])
    }

    /// Expects that each refresh token is used once, including refresh tokens that are spent for a derived token.
    private func expectRotated(_ account: Tool, in container: Container, at server: IdPyOIDCServer) async throws {
        let own = try await account.storedToken()
        let before = try await server.log().count
        let spent = try #require(try container.entry(container.archive)).bytes
        let derived = try await token(account, "--resource", Self.target)
        #expect(derived != own)
        #expect(try await token(account, "--resource", Self.target) == derived)
        // For a narrower scope, AccountKit exchanges the access token, since a refresh can narrow the session.
        _ = try await token(account, "--scope", "openid")
        #expect(try await token(account) == own)
        for _ in 1...2 { #expect(try await account("refresh").exitCode == 0) }
        #expect(
            try await server.log(after: before) == [
                .init(grantType: "refresh_token", resource: Self.target),
                .init(grantType: Self.exchange, scope: "openid"),
                .init(grantType: "refresh_token"), .init(grantType: "refresh_token"),
            ])

        // Restore a backup. This service responds to a spent refresh token with `invalid_request`, which does not end
        // the session.
        let current = try #require(try container.entry(container.archive)).bytes
        try container.write(spent, to: container.archive)
        try await expectRefused(account, ["--resource", Self.target, "--scope", "openid"], "invalid_request")
        let refresh = try await account("refresh")
        #expect(refresh.exitCode == 78, "\(refresh)")
        #expect(try await account("whoami", "--offline").output == "alice\n")
        try container.write(current, to: container.archive)
        #expect(try await account("refresh").exitCode == 0)
    }

    private func expectRevoked(_ account: Tool, at server: IdPyOIDCServer) async throws {
        let tokens = [try await token(account), try await token(account, "--audience", Self.target)]
        for token in tokens { #expect(try await server.accepts(token)) }
        let logout = try await account("logout", "--json")
        #expect(logout.exitCode == 0, "\(logout)")
        #expect(logout.output.contains(#""revocation":"done""#), "\(logout)")
        for token in tokens { #expect(try await server.accepts(token) == false) }
    }

    private func expectExchangedWithoutRefreshToken(_ account: Tool, at server: IdPyOIDCServer) async throws {
        try await logIn(account, at: server, "--no-default-scopes", "--scope", "openid", "--scope", "profile")
        let own = try await account.storedToken()
        let before = try await server.log().count
        #expect(try await token(account, "--resource", Self.target) != own)
        let narrow = try await token(account, "--scope", "openid")
        #expect(try claims(of: narrow)["scope"] == .text("openid"))
        try await expectRefused(account, ["--resource", "https://other.example/"], "invalid_target")
        #expect(
            try await server.log(after: before) == [
                .init(grantType: Self.exchange, resource: Self.target),
                .init(grantType: Self.exchange, scope: "openid"),
                .init(grantType: Self.exchange, resource: "https://other.example/", status: "400"),
            ])
        #expect(try await token(account) == own)
    }
}
