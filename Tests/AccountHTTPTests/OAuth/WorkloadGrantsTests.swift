import AccountKit
import AccountTesting
import Foundation
import Testing

@testable import AccountHTTP

/// Sessions of a program that its platform identifies (RFC 7521).
struct WorkloadGrantsTests {
    /// The claims are `{"sub":"repo:octo/app"}` and `{"sub":"repo:octo/other"}`.
    private static let assertion = "e30.eyJzdWIiOiJyZXBvOm9jdG8vYXBwIn0.c2ln"
    private static let other = "e30.eyJzdWIiOiJyZXBvOm9jdG8vb3RoZXIifQ.c2ln"

    private static let jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    private static let exchange = "urn:ietf:params:oauth:grant-type:token-exchange"
    private static let authenticates = #","token_endpoint_auth_methods_supported":["private_key_jwt"]"#

    private let clock = ManualClock(FixedClock().now)

    private static func grants(_ names: String...) -> String {
        #","grant_types_supported":[\#(names.map { "\"\($0)\"" }.joined(separator: ","))]"#
    }

    private func run(
        _ members: String = "", refusal: String? = nil, assertion: String = Self.assertion,
        _ body: (LoopbackServer, String) async throws -> Void
    ) async throws {
        try await LoopbackServer.run { request, address in
            switch request.target {
            case "/.well-known/openid-configuration": .json(discoveryDocument(address).dropLast() + members + "}")
            case "/token":
                refusal.map { .response(400, ["Content-Type": "application/json"], $0) }
                    ?? .json(#"{"access_token":"a","refresh_token":"r","expires_in":3600}"#)
            default: .response(200)
            }
        } _: { server in
            try await TemporaryFile.run(assertion) { path in try await body(server, path) }
        }
    }

    private func authority(
        _ server: LoopbackServer, _ path: String, clientID: String? = "deploy", grant: WorkloadGrant? = nil,
        scopes: [String] = [], options: OAuthRequestOptions = OAuthRequestOptions()
    ) throws -> OAuthAuthority {
        try OAuthAuthority(
            issuer: server.address, machine: .workload(.file(path), clientID: clientID, grant: grant), scopes: scopes,
            options: options, timeout: .seconds(20), clock: clock)
    }

    private func forms(_ server: LoopbackServer) -> [String] {
        server.requests.filter { $0.target == "/token" }.map { $0.body }
    }

    private func message(_ body: () async throws -> some Any) async -> String {
        guard case .misconfigured(let text)? = await asyncFailure(body) else { return "" }
        return text
    }

    // MARK: Grants

    private static let grantForms: [(WorkloadGrant, String)] = [
        (
            .clientAssertion,
            "grant_type=client_credentials"
                + "&client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer"
                + "&client_assertion=\(assertion)"
        ),
        (.jwtBearer, "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=\(assertion)"),
        (
            .tokenExchange,
            "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&subject_token=\(assertion)"
                + "&subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Ajwt"
                + "&requested_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token"
        ),
    ]

    @Test(arguments: grantForms)
    func `Sends the assertion as the grant requires, and again`(grant: WorkloadGrant, form: String) async throws {
        try await run { server, path in
            let options = OAuthRequestOptions(audience: "urn:api", resources: ["https://api.example.com/"])
            let authority = try authority(server, path, grant: grant, scopes: ["read"], options: options)
            let account = try await authority.signInAsClient()
            #expect(account.id == "deploy" && account.credentials.clientID == "deploy")
            #expect(account.credentials.refreshToken == nil && account.credentials.clientSecret == .unknown)
            #expect(account.credentials.machine?.workload == ["file", path])
            #expect(!"\(account)".contains("c2ln"))
            #expect(authority.isAuthority(of: account))
            _ = try await self.authority(server, path).refresh(account)
            let rest = "&scope=read&audience=urn%3Aapi&resource=https%3A%2F%2Fapi.example.com%2F&client_id=deploy"
            #expect(forms(server) == [form + rest, form + rest])
        }
    }

    @Test(arguments: [WorkloadGrant.clientAssertion, .jwtBearer, .tokenExchange])
    func `An archive contains no assertion of a workload`(grant: WorkloadGrant) async throws {
        try await run { server, path in
            try await expectArchives(try authority(server, path, grant: grant), containNone: [Self.assertion])
        }
    }

    /// Expects that none of the texts is in the archive after a sign-in and after a refresh.
    private func expectArchives(_ authority: OAuthAuthority, containNone texts: [String]) async throws {
        var account = try await authority.signInAsClient()
        try expectArchive(of: account, containsNone: texts)
        account.credentials = account.credentials.renewed(by: try await authority.refresh(account))
        try expectArchive(of: account, containsNone: texts)
    }

    private static let grantChoices: [(String, String?, WorkloadGrant)] = [
        (authenticates + grants(jwtBearer, exchange), "deploy", .clientAssertion),
        (authenticates + grants(jwtBearer, exchange), nil, .jwtBearer),
        (grants(exchange, jwtBearer), "deploy", .jwtBearer), (grants(exchange), "deploy", .tokenExchange),
    ]

    @Test(arguments: grantChoices)
    func `Chooses the first possible grant in the metadata`(
        members: String, clientID: String?, grant: WorkloadGrant
    ) async throws {
        try await run(members) { server, path in
            let account = try await authority(server, path, clientID: clientID).signInAsClient()
            #expect(account.credentials.machine?.type == grant.type)
        }
    }

    @Test func `Says how to replace the session of a later version`() async throws {
        try await run { server, path in
            let authority = try authority(server, path, grant: .jwtBearer)
            var account = try await authority.signInAsClient()
            account.credentials.machine?.type = "urn:example:later"
            #expect(await message { try await authority.refresh(account) }.contains("`login --workload SOURCE`"))
        }
    }

    @Test func `Asks for the grant if the metadata lists none`() async throws {
        try await run { server, path in
            #expect(await message { try await authority(server, path).signInAsClient() }.contains("--workload-grant"))
            #expect(forms(server).isEmpty)
        }
    }

    @Test func `Does not try another grant or repeat a rejected assertion`() async throws {
        let refusal = #"{"error":"invalid_client","error_description":"bad \#(Self.assertion)"}"#
        try await run(Self.authenticates + Self.grants(Self.jwtBearer), refusal: refusal) { server, path in
            let failure = await asyncFailure { try await authority(server, path).signInAsClient() }
            guard case .oauthError("invalid_client", _)? = failure else {
                Issue.record("\(String(describing: failure))")
                return
            }
            #expect(forms(server).count == 1)
            #expect(!String(describing: failure).contains("c2ln"))
        }
    }

    // MARK: The audience

    /// `ISSUER` stands for the address of the service.
    private static let audiences: [(String, String?, Bool)] = [
        (#"{"sub":"a","aud":"ISSUER"}"#, nil, true), (#"{"sub":"a","aud":["x","ISSUER/"]}"#, nil, true),
        (#"{"sub":"a","aud":"ISSUER/token"}"#, nil, true),
        (#"{"sub":"a","aud":"api://exchange"}"#, "api://exchange", true),
        (#"{"sub":"a","aud":"ISSUER"}"#, "api://exchange", true), (#"{"sub":"a"}"#, nil, true),
        (#"{"sub":"a","aud":"api://exchange"}"#, nil, false), (#"{"sub":"a","aud":["x","y"]}"#, nil, false),
        (#"{"sub":"a","aud":"https://login.example.com"}"#, "api://exchange", false),
    ]

    @Test(arguments: audiences)
    func `Sends no assertion that is for another service`(claims: String, expected: String?, isSent: Bool) async throws
    {
        for grant in WorkloadGrant.allCases {
            try await run { server, _ in
                let assertion = jsonWebToken(claims.replacing("ISSUER", with: server.address)).reveal()
                try await TemporaryFile.run(assertion) { path in
                    var source = WorkloadSource.file(path)
                    source.audience = expected
                    let authority = try OAuthAuthority(
                        issuer: server.address, machine: .workload(source, clientID: "deploy", grant: grant),
                        timeout: .seconds(20), clock: clock)
                    guard isSent else {
                        let text = await message { try await authority.signInAsClient() }
                        #expect(text.contains("--client-assertion-audience") && !text.contains(assertion), "\(text)")
                        #expect(forms(server).isEmpty)
                        return
                    }
                    let account = try await authority.signInAsClient()
                    #expect(account.credentials.machine?.assertionAudience == expected)
                    _ = try await authority.refresh(account)
                    #expect(forms(server).count == 2)
                }
            }
        }
    }

    // MARK: The account

    @Test func `Without a client ID, the account has the subject of the assertion`() async throws {
        try await run { server, path in
            let authority = try authority(server, path, clientID: nil, grant: .jwtBearer)
            let account = try await authority.signInAsClient()
            #expect(account.id == "repo:octo/app" && account.credentials.clientID == nil)
            #expect(authority.isAuthority(of: account))
            #expect(try await authority.revoke(account) == .done)
            #expect(server.requests.allSatisfy { !$0.body.contains("client_id") })
        }
    }

    @Test func `Requires a client ID if the assertion cannot name the account`() async throws {
        try await run(assertion: "opaque") { server, path in
            let opaque = try authority(server, path, clientID: nil, grant: .tokenExchange)
            #expect(await message { try await opaque.signInAsClient() }.contains("--client-id"))
            let authenticating = try authority(server, path, clientID: nil, grant: .clientAssertion)
            #expect(await message { try await authenticating.signInAsClient() }.contains("--client-id"))
            #expect(forms(server).isEmpty)
        }
    }

    @Test func `Does not renew the session with the assertion of another subject`() async throws {
        try await run { server, path in
            let account = try await authority(server, path, clientID: nil, grant: .jwtBearer).signInAsClient()
            try await TemporaryFile.run(Self.other) { path in
                let authority = try authority(server, path, clientID: nil)
                #expect(await message { try await authority.refresh(account) }.contains("repo:octo/other"))
            }
            #expect(forms(server).count == 1)
        }
    }

    @Test(arguments: WorkloadGrant.allCases)
    func `Renews the session of a client only with an assertion for its subject`(grant: WorkloadGrant) async throws {
        try await run { server, path in
            let right = try authority(server, path, grant: grant)
            let account = try await right.signInAsClient()
            #expect(account.id == "deploy" && account.credentials.machine?.subject == "repo:octo/app")
            for assertion in [Self.other, "opaque"] {
                try await TemporaryFile.run(assertion) { path in
                    let wrong = try authority(server, path)
                    let refusal = await message { try await wrong.refresh(account) }
                    #expect(refusal.contains("the session belongs to repo:octo/app"), "\(refusal)")
                    guard grant == .clientAssertion else { return }
                    let revocation = await message { try await wrong.revoke(account) }
                    #expect(revocation.contains("the session belongs to repo:octo/app"), "\(revocation)")
                }
            }
            #expect(forms(server).count == 1)
            let renewed = account.credentials.renewed(by: try await right.refresh(account))
            #expect(renewed.machine == account.credentials.machine)
        }
    }

    @Test func `Binds a session without a subject at the next use`() async throws {
        try await run { server, path in
            let authority = try authority(server, path, grant: .jwtBearer)
            var account = try await authority.signInAsClient()
            account.credentials.machine?.subject = nil
            account.credentials = account.credentials.renewed(by: try await authority.refresh(account))
            #expect(account.credentials.machine?.subject == "repo:octo/app")
            try await TemporaryFile.run(Self.other) { path in
                let wrong = try self.authority(server, path)
                let refusal = await message { try await wrong.refresh(account) }
                #expect(refusal.contains("the assertion is for repo:octo/other"), "\(refusal)")
            }
        }
    }

    @Test func `Authenticates a revocation with a new assertion`() async throws {
        try await run { server, path in
            let authority = try authority(server, path, grant: .clientAssertion)
            #expect(try await authority.revoke(try await authority.signInAsClient()) == .done)
            let body = try #require(server.requests.last { $0.target == "/revoke" }?.body)
            #expect(body.hasSuffix("&client_assertion=\(Self.assertion)"))
        }
    }

    @Test func `An archive does not choose the source of an app`() async throws {
        try await run { server, path in
            let account = try await authority(server, path, grant: .jwtBearer).signInAsClient()
            let user = try OAuthAuthority(issuer: server.address, clientID: "deploy", clock: clock)
            #expect(await message { try await user.refresh(account) }.contains("workload identity"))
            #expect(forms(server).count == 1)
        }
    }
}
