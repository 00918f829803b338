import AccountKit
import AccountTesting
import FoundationEssentials
import Testing

#if Signatures
import Crypto
#endif

@testable import AccountHTTP

/// Sessions of a client without a user (RFC 6749, section 4.4).
struct MachineGrantsTests {
    private static let secret = "s3cret"

    private let clock = ManualClock(FixedClock().now)

    private func run(
        _ members: String = "", tokens: String = #"{"access_token":"a","expires_in":3600}"#,
        _ body: (LoopbackServer) async throws -> Void
    ) async throws {
        try await LoopbackServer.run { request, address in
            switch request.target {
            case "/.well-known/openid-configuration": .json(discoveryDocument(address).dropLast() + members + "}")
            case "/token": .json(tokens)
            case "/old": .response(404)
            case "/refusing": .response(401, ["Content-Type": "application/json"], #"{"error":"invalid_client"}"#)
            default: .response(200)
            }
        } _: { server in
            try await body(server)
        }
    }

    private func authority(
        _ server: LoopbackServer, scopes: [String] = [], options: OAuthRequestOptions = OAuthRequestOptions()
    ) throws -> OAuthAuthority {
        try OAuthAuthority(
            issuer: server.address, machine: .client("nightly", secret: Secret(Self.secret)), scopes: scopes,
            options: options, timeout: .seconds(20), clock: clock)
    }

    private func forms(_ server: LoopbackServer) -> [String] {
        server.requests.filter { $0.target == "/token" }.map { $0.body }
    }

    @Test func `Tests the expiry of a machine's token in five lines`() async throws {
        let service = ScriptedAuthority(clock: clock)
        let store = try await AccountStore.inMemory(signedIn: .machine(at: clock.now), clock: clock)
        #expect(try await store.accessToken(with: service) == Secret("access-1"))
        clock.advance(by: .seconds(3600))
        #expect(try await store.accessToken(with: service) == Secret("access-2"))
    }

    @Test func `Signs in as the client without a user`() async throws {
        try await run(tokens: #"{"access_token":"a","refresh_token":"r","id_token":"x.y.z","expires_in":60}"#) {
            server in
            let account = try await authority(server).signInAsClient()
            #expect(account.id == "nightly" && account.username == nil)
            #expect(account.issuer == server.address)
            #expect(account.verifiedAt == clock.now)
            #expect(account.credentials.machine == MachineGrant())
            #expect(account.credentials.clientSecret == .unknown)
            #expect(account.credentials.refreshToken == nil && account.credentials.idToken == nil)
            #expect(forms(server) == ["grant_type=client_credentials&client_id=nightly"])
            let request = try #require(server.requests.last)
            let pair = Data("nightly:\(Self.secret)".utf8).base64EncodedString()
            #expect(request.headers["authorization"] == "Basic \(pair)")
        }
    }

    /// Expects that none of the texts is in the archive after a sign-in and after a refresh.
    private func expectArchives(_ authority: OAuthAuthority, containNone texts: [String]) async throws {
        var account = try await authority.signInAsClient()
        try expectArchive(of: account, containsNone: texts)
        account.credentials = account.credentials.renewed(by: try await authority.refresh(account))
        try expectArchive(of: account, containsNone: texts)
    }

    private static let surplusTokens =
        #"{"access_token":"access-1","refresh_token":"refresh-1","id_token":"e30.e30.id-1","expires_in":60}"#

    @Test func `An archive contains neither client secret nor surplus tokens`() async throws {
        try await run(tokens: Self.surplusTokens) { server in
            try await expectArchives(try authority(server), containNone: [Self.secret, "refresh-1", "id-1"])
        }
    }

    #if Signatures
    @Test func `An archive contains no client key`() async throws {
        let pem = P256.Signing.PrivateKey().pemRepresentation
        let lines = pem.split(separator: "\n").dropFirst().dropLast().map(String.init)
        try await TemporaryFile.run(pem) { path in
            // AccountKit refuses a key that other users can read.
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
            try await run(tokens: Self.surplusTokens) { server in
                let authority = try OAuthAuthority(
                    issuer: server.address, machine: .client("nightly", key: .file(path)), timeout: .seconds(20),
                    clock: clock)
                try await expectArchives(authority, containNone: lines)
                #expect(forms(server).count == 2 && forms(server).allSatisfy { $0.contains("client_assertion=") })
            }
        }
    }
    #endif

    @Test func `Repeats the request of the sign-in in another process`() async throws {
        try await run { server in
            let options = OAuthRequestOptions(audience: "urn:api", resources: ["https://api.example.com/"])
            let account = try await authority(server, scopes: ["read", "write"], options: options).signInAsClient()
            #expect(account.credentials.scopes == ["read", "write"])
            let response = try await authority(server).refresh(account)
            let renewed = account.credentials.renewed(by: response)
            #expect(renewed.machine == account.credentials.machine)
            #expect(renewed.clientSecret == .unknown)
            let form =
                "grant_type=client_credentials&scope=read+write&audience=urn%3Aapi"
                + "&resource=https%3A%2F%2Fapi.example.com%2F&client_id=nightly"
            #expect(forms(server) == [form, form])
        }
    }

    /// The server responds with 404 at other paths, and with `invalid_client` at `/refusing`.
    @Test(arguments: ["/old", "/refusing"])
    func `Repeats a request at the token endpoint that the service names now`(path: String) async throws {
        try await run { server in
            var account = try await authority(server).signInAsClient()
            account.credentials.tokenEndpoint = TokenEndpoint(
                url: server.address + path, expiresAt: clock.now.addingTimeInterval(600))
            let renewed = try await authority(server).refresh(account)
            #expect(renewed.accessToken == Secret("a"))
            #expect(server.targets.suffix(3) == [path, "/.well-known/openid-configuration", "/token"])
        }
    }

    @Test func `Requires the client secret for each token request`() async throws {
        try await run { server in
            let account = try await authority(server).signInAsClient()
            let withoutSecret = try OAuthAuthority(issuer: server.address, clientID: "nightly", clock: clock)
            let failure = await asyncFailure { try await withoutSecret.refresh(account) }
            guard case .misconfigured(let text)? = failure else {
                Issue.record("\(String(describing: failure))")
                return
            }
            #expect(text.contains("no secret for the client nightly"))
            #expect(forms(server).count == 1)
        }
    }

    @Test func `Says how to replace the session of a later version`() async throws {
        try await run { server in
            var account = try await authority(server).signInAsClient()
            account.credentials.machine?.type = "urn:example:later"
            let failure = await asyncFailure { try await authority(server).refresh(account) }
            #expect(failure == .unknownGrant(signIn: "--client-credentials"))
            #expect("\(failure as Any)".contains("update this program, or sign in again"))
        }
    }

    @Test func `Refuses accounts of users and of other clients`() async throws {
        try await run { server in
            let authority = try authority(server)
            var account = try await authority.signInAsClient()
            #expect(authority.isAuthority(of: account))
            #expect(await asyncFailure { try await authority.verify(account) } != nil)
            account.credentials.machine = nil
            #expect(!authority.isAuthority(of: account))
            let other = try OAuthAuthority(
                issuer: server.address, machine: .client("weekly", secret: Secret(Self.secret)), clock: clock)
            #expect(!other.isAuthority(of: try await authority.signInAsClient()))
        }
    }

    @Test func `Revokes the access token of a machine`() async throws {
        try await run { server in
            let authority = try authority(server)
            #expect(try await authority.revoke(try await authority.signInAsClient()) == .done)
            let bodies = server.requests.filter { $0.target == "/revoke" }.map { $0.body }
            #expect(bodies == ["token=a&token_type_hint=access_token&client_id=nightly"])
        }
    }

    @Test func `Stores and renews the session of a machine`() async throws {
        try await run { server in
            let authority = try authority(server)
            let store = try await AccountStore.inMemory(signedIn: nil, clock: clock)
            try await store.signIn { try await authority.signInAsClient() }
            #expect(await store.checkSession(with: authority, maximumAge: .seconds(900)).account?.id == "nightly")
            #expect(forms(server).count == 1)
            clock.advance(by: .seconds(3600))
            #expect(try await store.accessToken(timeout: nil, with: authority) == Secret("a"))
            #expect(forms(server).count == 2)
            #expect(server.targets.filter { $0 == "/userinfo" }.isEmpty)
        }
    }
}
