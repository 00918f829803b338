@testable import EndToEndSupport
import Foundation
import NIOHTTP1
import Testing

/// The client scenarios of modelcontextprotocol/conformance that are about a sign-in, each named after the scenario. The
/// service and the API are the test server.
///
/// Unit tests cover the scenarios that differ from these only in one response: `ResourceDiscoveryTests` those of the
/// metadata, `AuthorizationResponseTests` those of the issuer, `ClientAuthenticationTests` those of the token endpoint, and
/// `ServiceDocumentsTests` those of the scopes. `APISignInTests`, `StepUpTests` and `OfflineAccessTests` cover the others.
@Suite(.queued)
struct ConformanceTests {
    private static let tenant = "/tenant1"

    private static let serverMetadata = "/.well-known/oauth-authorization-server"

    /// Makes the authorization server one of several at its host, with its metadata at one place only.
    private func moveIssuer(of user: APIUser, documentAt path: String) async throws {
        let issuer = user.server.issuer + Self.tenant
        let original = try await HTTP.get(user.server.issuer + Self.serverMetadata).text
        let document = original.replacing(
            "\"issuer\":\"\(user.server.issuer)\"", with: "\"issuer\":\"\(issuer)\"")
        try await user.server.alter(.resourceMetadata, setting: ["authorization_servers": .list([issuer])])
        try await user.server.alter(.authorization, setting: ["iss": .text(issuer)])
        try await user.server.alter(.idToken, setting: ["iss": .text(issuer)])
        try await user.server.setFaults(
            Fault(path: path, status: 200, headers: ["Content-Type": "application/json"], body: document))
    }

    private func expectSignIn(_ user: APIUser, _ arguments: [String] = []) async throws {
        let login = try await user.account.logIn(at: user.server, [user.api] + arguments)
        try #require(login.exitCode == 0, "\(login)")
        #expect(try await user.call() == 200)
        #expect(try await user.account("refresh").exitCode == 0)
    }

    private func scope(of user: APIUser) async throws -> String? {
        let requests = try await user.server.log().requests
        return requests.last { $0.path == "/oauth/authorize" && $0.method == "POST" }?.scope
    }

    // MARK: Metadata

    @Test func `auth/metadata-var2`() async throws {
        try await APIUser.run(["--api-metadata", "root"]) { user in
            try await moveIssuer(of: user, documentAt: Self.serverMetadata + Self.tenant)
            try await expectSignIn(user)
        }
    }

    @Test func `auth/metadata-var3`() async throws {
        try await APIUser.run { user in
            try await moveIssuer(of: user, documentAt: Self.tenant + "/.well-known/openid-configuration")
            let place = "/custom/metadata/location.json"
            let document = try await HTTP.get(user.server.issuer + APIUser.metadata).text
            let challenge = "Bearer resource_metadata=\"\(user.server.issuer)\(place)\""
            try await user.server.arm(
                Fault(path: place, status: 200, headers: ["Content-Type": "application/json"], body: document),
                Fault(path: "/mcp", status: 401, headers: ["WWW-Authenticate": challenge], times: 1))
            try await expectSignIn(user)
            #expect(try await user.server.log()[place] == 1)
        }
    }

    // MARK: Client identifiers

    @Test func `auth/basic-cimd`() async throws {
        try await APIUser.run(["--client-metadata"]) { user in
            let document = "https://conformance-test.local/client-metadata.json"
            try await expectSignIn(user, ["--client-metadata-url", document])
            let requests = try await user.server.log().requests
            #expect(requests.first { $0.path == "/oauth/authorize" }?.clientID == document)
            #expect(!requests.contains { $0.path == "/oauth/register" })
        }
    }

    @Test func `auth/pre-registration`() async throws {
        try await APIUser.run(registration: "off") { user in
            try await user.server.alter(.discovery, omitting: ["scopes_supported"])
            try await expectSignIn(user, ["--client-id", "account-cli"])
            #expect(try await user.server.log()["/oauth/register"] == 0)
            #expect(try await scope(of: user) == nil, "auth/scope-omitted-when-undefined")
        }
    }

    // MARK: Client credentials

    /// Signs in as a client at the URL of the API, and expects two token requests for the resource.
    private func expectClientSignIn(_ user: APIUser, as account: Tool, _ options: [String], method: String) async throws
    {
        let words = [
            "login", user.api, "--issuer", user.server.issuer, "--client-credentials", "--client-id", "account-cli",
        ]
        let login = try await account.run(words + options)
        try #require(login.exitCode == 0, "\(login)")
        #expect(try await user.call() == 200)
        let refresh = try await account("refresh")
        #expect(refresh.exitCode == 0, "\(refresh)")
        let requests = try await user.server.log().requests.filter { $0.path == "/oauth/token" }
        #expect(requests.count == 2)
        for request in requests {
            #expect(request.grantType == "client_credentials" && request.secret == method, "\(request)")
            #expect(request.resource == user.api && request.status == 200, "\(request)")
        }
        #expect(try user.registrations().isEmpty)
    }

    @Test func `auth/client-credentials-basic`() async throws {
        try await APIUser.run(["--client-secret", "s3cret"], registration: "off") { user in
            let account = user.account.with("ACCOUNT_CLIENT_SECRET", "s3cret")
            try await expectClientSignIn(user, as: account, [], method: "client_secret_basic")
        }
    }

    @Test func `auth/client-credentials-jwt`() async throws {
        try await Container.run { container in
            let keys = try await ClientKeyPair(in: container)
            try await APIUser.run(["--client-public-key", keys.publicKey], registration: "off") { user in
                try await expectClientSignIn(
                    user, as: user.account, ["--client-key", keys.privateKey], method: "private_key_jwt")
            }
        }
    }

    // MARK: Workload identity

    @Test func `auth/wif-jwt-bearer`() async throws {
        try await APIUser.run(WorkloadPlatform.serverOptions, registration: "off") { user in
            let platform = WorkloadPlatform(audience: user.server.issuer)
            let login = try await user.account(
                "login", user.api, "--issuer", user.server.issuer, "--workload", platform.command, "--workload-grant",
                "jwt-bearer", "--client-id", "account-cli")
            try #require(login.exitCode == 0, "\(login)")
            #expect(try await user.call() == 200)
            #expect(try await user.account("refresh").exitCode == 0)
            #expect(try await user.account("doctor").exitCode == 0)
            let requests = try await user.server.log().requests.filter { $0.path == "/oauth/token" }
            #expect(requests.count == 2)
            for request in requests {
                #expect(request.grantType == "urn:ietf:params:oauth:grant-type:jwt-bearer", "\(request)")
                #expect(request.resource == user.api && request.clientID == "account-cli", "\(request)")
            }
        }
    }

    // MARK: Scopes

    @Test func `auth/scope-from-www-authenticate`() async throws {
        let options = ["--api-scope", "mcp:basic", "--challenged-scope", "mcp:basic"]
        try await APIUser.run(options) { user in
            try await user.server.alter(.resourceMetadata, setting: ["scopes_supported": .list(["email"])])
            try await user.server.alter(.discovery, omitting: ["scopes_supported"])
            try await expectSignIn(user)
            #expect(try await scope(of: user) == "mcp:basic")
        }
    }

    // MARK: The resource and the issuer

    @Test func `auth/authorization-server-migration`() async throws {
        try await APIUser.run { user in
            try await user.signIn()
            let first = try await user.server.clients()
            try await ExampleServer.run(["--registration", "managed", "--device-interval", "1"]) { other in
                try await user.server.alter(
                    .resourceMetadata, setting: ["authorization_servers": .list([other.issuer])])
                let login = try await user.account.logInOnDevice(at: other)
                #expect(login.exitCode == 0, "\(login)")
                let requests = try await other.log().requests
                #expect(requests.filter { $0.path == "/oauth/register" }.count == 1)
                #expect(!requests.contains { first.contains($0.clientID ?? "") })
                #expect(try await user.account("refresh").exitCode == 0)
                #expect(try user.registrations().count == 2)
            }
        }
    }

    // MARK: Tokens that are bound to a key

    @Test func `auth/dpop-nonce`() async throws {
        try await APIUser.run(["--dpop", "nonces"]) { user in
            let login = try await user.account.logIn(at: user.server, [user.api, "--dpop"])
            try #require(login.exitCode == 0, "\(login)")
            let nonce = try #require(try await HTTP.nonce(of: user.api))
            let proof = try await user.account("token", "--dpop-proof", "POST", user.api, "--dpop-nonce", nonce)
            let fields = proof.output.split(separator: "\n").map { line in
                line.split(separator: ": ", maxSplits: 1).map(String.init)
            }
            let all = [String: String](uniqueKeysWithValues: fields.map { ($0[0], $0[1]) })
            #expect(try await HTTP.send(.POST, user.api, fields: all).status == 200)
            #expect(try await user.account("refresh").exitCode == 0)
        }
    }

    // MARK: Earlier versions of the specification

    /// The specification of March 2025 has no metadata of the API: its origin is the service. AccountKit does not guess
    /// endpoints: without metadata it does not know whether the service checks PKCE.
    @Test func `auth/2025-03-26-oauth-metadata-backcompat and endpoint-fallback`() async throws {
        try await APIUser.run(["--api-metadata", "none"]) { user in
            try await user.server.setFaults(Fault(path: "/.well-known/*", status: 404))
            try await user.expectRefused(try await user.refusedLogin(), "has no discovery document")
            try await user.server.clearFaults()
            for url in [user.api, user.server.issuer] {
                let login = try await user.account.logIn(at: user.server, [url, "--session", "of-\(url.count)"])
                #expect(login.exitCode == 0, "\(login)")
                let refresh = try await user.account("refresh", "--session", "of-\(url.count)")
                #expect(refresh.exitCode == 0, "\(refresh)")
            }
        }
    }
}
