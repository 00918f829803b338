import AccountKit
import Testing

@testable import AccountHTTP

/// ID tokens in the responses to refreshes and to the grants without a browser.
struct IDTokenOfGrantTests {
    private static let user = "248289761001"

    /// The claims of a service's ID token, with one of them replaced, or removed if the value is `nil`.
    private static func claims(_ issuer: String, _ name: String = "", _ value: String? = nil) -> String {
        var members = ["iss": "\"\(issuer)\"", "sub": "\"\(user)\"", "aud": "\"tool\""]
        if !name.isEmpty { members[name] = value }
        return "{" + members.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
    }

    /// Runs a test with a service whose token endpoint returns this ID token.
    private func run(
        _ idToken: @escaping @Sendable (_ issuer: String) -> String,
        _ test: (OAuthAuthority, LoopbackServer) async throws -> Void
    ) async throws {
        try await LoopbackServer.run { request, address in
            switch request.target {
            case "/token":
                .json(#"{"access_token":"access-2","refresh_token":"refresh-2","id_token":"\#(idToken(address))"}"#)
            case "/revoke": .response(200)
            default: .json(#"{"sub":"\#(Self.user)"}"#)
            }
        } _: { server in
            try await test(.direct(server), server)
        }
    }

    /// A claim that belongs to another user, service or client, or is missing.
    struct Lie: Sendable, CustomTestStringConvertible {
        let name: String

        /// The value in JSON.
        let value: String?

        var testDescription: String { "\(name) \(value ?? "missing")" }
        func token(_ issuer: String) -> String { jsonWebToken(claims(issuer, name, value)).reveal() }

        /// The failure of a request that spends no refresh token.
        var otherUser: AuthorityError {
            .otherUser(id: name == "sub" ? value?.replacing("\"", with: "") ?? "" : user)
        }

        /// Whether the ID token names another user.
        var namesOther: Bool { name == "sub" && value != nil }

        /// The failure of a sign-in.
        var refusal: AuthorityError {
            if name != "sub" { return .misconfigured("…") }
            return value == nil ? .unclear("…") : .otherUser(id: user)
        }
    }

    static let lies = [
        Lie(name: "sub", value: "\"2\""), Lie(name: "sub", value: nil),
        Lie(name: "iss", value: "\"https://evil.example\""), Lie(name: "iss", value: nil),
        Lie(name: "aud", value: "\"other\""), Lie(name: "aud", value: "[]"), Lie(name: "aud", value: nil),
    ]

    @Test(arguments: lies)
    func `Keeps refreshed tokens, and drops a wrong ID token`(lie: Lie) async throws {
        try await run(lie.token) { authority, server in
            var old = account(at: server.address, refreshToken: "refresh-1")
            old.credentials.idToken = jsonWebToken(Self.claims(server.address))
            let target = try TokenTarget(scopes: ["openid"])
            let refreshed = try await authority.refresh(old)
            let derived = try await authority.exchangeToken(for: target, of: old, by: .refresh)
            for credentials in [refreshed, derived] {
                #expect(
                    credentials.accessToken == Secret("access-2") && credentials.refreshToken == Secret("refresh-2"))
                #expect(credentials.idToken == nil && credentials.isWithheld == lie.namesOther)
            }
            let renewed = old.credentials.renewed(by: refreshed)
            #expect(renewed.idToken == old.credentials.idToken && renewed.isWithheld == lie.namesOther)
            // A token exchange spends no refresh token.
            let exchanged = await asyncFailure {
                try await authority.exchangeToken(for: target, of: old, by: .tokenExchange)
            }
            #expect(exchanged == lie.otherUser)
            // Nothing was revoked: the new tokens may share a grant with the account's session.
            #expect(server.targets == ["/token", "/token", "/token"])
        }
    }

    @Test func `Withholds a token if an ID token of another issuer names another user`() async throws {
        let claims = #"{"iss":"https://evil.example","sub":"2","aud":"tool"}"#
        try await run { _ in
            jsonWebToken(claims).reveal()
        } _: { authority, server in
            let new = try await authority.refresh(account(at: server.address, refreshToken: "refresh-1"))
            #expect(new.isOfOtherUser && new.idToken == nil && new.refreshToken == Secret("refresh-2"))
            // The id of this account does not come from the service.
            let local = account(at: server.address, id: Account.localIDPrefix + "1", refreshToken: "refresh-1")
            #expect(try await !authority.refresh(local).isWithheld)
        }
    }

    @Test(arguments: lies)
    func `Refuses a password or device sign-in with a wrong ID token`(lie: Lie) async throws {
        try await run(lie.token) { authority, server in
            let authorization = DeviceAuthorization(
                deviceCode: Secret("code"), userCode: "A", verificationURI: server.address, lifetime: .seconds(60))
            let credentials = try await authority.pollDeviceSignIn(authorization)
            let device = await asyncFailure { try await authority.account(with: credentials) }
            #expect(kind(device) == lie.refusal)
            let error = await #expect(throws: AccountError.self) {
                try await authority.signIn(username: "alice", password: Secret("p"))
            }
            #expect(kind(error?.cause as? AuthorityError) == lie.refusal)
            #expect(server.targets.contains("/revoke"))
        }
    }

    @Test func `Ignores an unreadable ID token in a token response`() async throws {
        try await run { _ in
            "not.a.jwt"
        } _: { authority, server in
            let old = account(at: server.address, refreshToken: "refresh-1")
            let new = try await authority.refresh(old)
            #expect(new.accessToken == Secret("access-2"))
            #expect(new.refreshToken == Secret("refresh-2"))
            #expect(new.idToken == nil)
            let signedIn = try await authority.signIn(username: "alice", password: Secret("p"))
            #expect(signedIn.credentials.idToken == nil)
        }
    }

    @Test func `Accepts refreshed tokens with an ID token of the same account`() async throws {
        try await run {
            jsonWebToken(Self.claims($0)).reveal()
        } _: { authority, server in
            let new = try await authority.refresh(account(at: server.address, refreshToken: "refresh-1"))
            #expect(new.idToken == jsonWebToken(Self.claims(server.address)))
        }
    }

    @Test(arguments: ["iss", "aud"])
    func `Accepts the issuer and audience of the account's stored ID token`(name: String) async throws {
        let proxy = "\"https://proxy.example\""
        try await run {
            jsonWebToken(Self.claims($0, name, proxy)).reveal()
        } _: { authority, server in
            var old = account(at: server.address, refreshToken: "refresh-1")
            old.credentials.idToken = jsonWebToken(Self.claims(server.address, name, proxy))
            let new = try await authority.refresh(old)
            #expect(new.accessToken == Secret("access-2"))
        }
    }
}
