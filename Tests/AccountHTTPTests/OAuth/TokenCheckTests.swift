import AccountKit
import AccountTesting
import Testing

@testable import AccountHTTP

/// The check of the tokens in a response, which is the same for each grant. `IDTokenOfGrantTests` tests ID tokens, and
/// `BoundTokensTests` the binding to a key.
struct TokenCheckTests {
    private static let assertion = "e30.eyJzdWIiOiJyZXBvOm9jdG8vYXBwIn0.c2ln"

    /// Runs a test with a service whose token endpoint issues tokens of a type.
    private func run(_ type: String, _ test: (OAuthAuthority, LoopbackServer) async throws -> Void) async throws {
        try await LoopbackServer.run { request, _ in
            switch request.target {
            case "/token": .json(#"{"access_token":"a2","refresh_token":"r2","token_type":"\#(type)"}"#)
            case "/revoke": .response(200)
            default: .json(#"{"sub":"248289761001"}"#)
            }
        } _: { server in
            try await test(.direct(server), server)
        }
    }

    @Test(arguments: [("alice", false), ("mallory", true)], [false, true])
    func `Withholds tokens whose response names another user`(user: (id: String, isOther: Bool), spends: Bool) throws {
        let owner = Account.testing(id: "alice", at: FixedClock().now)
        var credentials = owner.credentials
        credentials.user = user.id
        let check = TokenCheck(
            issuer: try Issuer("https://auth.example.com"), clientID: "tool", owner: owner, spendsRefreshToken: spends)
        do throws(AuthorityError) {
            try check.check(&credentials)
            #expect(credentials.isOfOtherUser == user.isOther && credentials.user == nil)
            #expect(spends || !user.isOther)
        } catch {
            #expect(error == .otherUser(id: user.id) && user.isOther && !spends)
        }
    }

    @Test(arguments: ["mac", "DPoP", "PoP"])
    func `No sign-in returns a token of the wrong type`(type: String) async throws {
        try await run(type) { authority, server in
            let password = await #expect(throws: AccountError.self) {
                try await authority.signIn(username: "alice", password: Secret("p"))
            }
            #expect(kind(password?.cause as? AuthorityError) == .unclear("…"))
            let authorization = DeviceAuthorization(
                deviceCode: Secret("code"), userCode: "A", verificationURI: server.address, lifetime: .seconds(60))
            let credentials = try await authority.pollDeviceSignIn(authorization)
            #expect(credentials.isWithheld)
            #expect(kind(await asyncFailure { try await authority.account(with: credentials) }) == .unclear("…"))
            #expect(!server.targets.contains("/userinfo"))
        }
    }

    @Test(arguments: ["mac", "DPoP", "PoP"])
    func `No client or workload gets a token of the wrong type`(type: String) async throws {
        try await run(type) { _, server in
            let endpoints = try OAuthEndpoints.all(at: server.address)
            let client = try OAuthAuthority(
                issuer: server.address, machine: .client("nightly", secret: Secret("s")), endpoints: endpoints,
                timeout: .seconds(20), clock: FixedClock())
            #expect(kind(await asyncFailure { try await client.signInAsClient() }) == .unclear("…"))
            try await TemporaryFile.run(Self.assertion) { path in
                for grant in WorkloadGrant.allCases {
                    let workload = try OAuthAuthority(
                        issuer: server.address, machine: .workload(.file(path), clientID: "deploy", grant: grant),
                        endpoints: endpoints, timeout: .seconds(20), clock: FixedClock())
                    #expect(
                        kind(await asyncFailure { try await workload.signInAsClient() }) == .unclear("…"), "\(grant)")
                }
            }
        }
    }

    @Test(arguments: ["mac", "DPoP", "PoP"])
    func `After a refresh, a token of the wrong type is stored and withheld`(type: String) async throws {
        try await run(type) { authority, server in
            let old = account(at: server.address, refreshToken: "r1")
            let target = try TokenTarget(scopes: ["openid"])
            let refreshed = try await authority.refresh(old)
            let derived = try await authority.exchangeToken(for: target, of: old, by: .refresh)
            for credentials in [refreshed, derived, old.credentials.renewed(by: refreshed)] {
                #expect(credentials.isWithheld && credentials.refreshToken == Secret("r2"))
            }
            // A token exchange spends no refresh token.
            let exchanged = await asyncFailure {
                try await authority.exchangeToken(for: target, of: old, by: .tokenExchange)
            }
            #expect(kind(exchanged) == .unclear("…"))
        }
    }

    @Test func `Accepts several audiences after a refresh only for this client`() async throws {
        let issuer = "https://login.example.com"
        func token(_ party: String) throws -> IDToken {
            let claims = #"{"iss":"\#(issuer)","sub":"248289761001","aud":["tool","api"]\#(party)}"#
            return try #require(IDToken(jsonWebToken(claims)))
        }
        let owner = account(at: issuer)
        for (party, isAccepted) in [(#","azp":"tool""#, true), (#","azp":"api""#, false), ("", true)] {
            let belongs = try token(party).belongs(to: owner, issuer: Issuer(issuer), clientID: "tool")
            #expect(belongs == isAccepted, "\(party)")
        }
    }
}
