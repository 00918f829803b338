import HTTPTypes
import Testing

@testable import auth_server

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite("Clients with a secret")
struct ClientCredentialsTests {
    private static let secret = "s3cret +&%ü"

    private static func settings(_ methods: [ClientSecret.Method]) -> ServerSettings {
        var settings = ServerSettings()
        settings.clientSecret = ClientSecret(text: secret, methods: methods)
        return settings
    }

    private static func field(_ secret: String) -> HTTPFields {
        let pair = Data("account-cli:\(secret.percentEncoded)".utf8).base64EncodedString()
        return [.authorization: "Basic \(pair)"]
    }

    private static let password: KeyValuePairs = [
        "grant_type": "password", "username": "alice", "password": API.alicePassword,
    ]

    private func signIn(_ api: API, basic: String? = nil, post: String? = nil) async throws -> API.Response {
        var pairs = Self.password.map { ($0.key, $0.value) } + [("client_id", "account-cli")]
        if let post { pairs.append(("client_secret", post)) }
        return try await api.form("/oauth/token", pairs, headers: basic.map(Self.field) ?? [:])
    }

    @Test("The server accepts the client secret by the allowed methods only")
    func methods() async throws {
        for methods in [[ClientSecret.Method.basic], [.post], [.basic, .post]] {
            try await TestServer(settings: Self.settings(methods)).run { api in
                let basic = try await signIn(api, basic: Self.secret)
                let post = try await signIn(api, post: Self.secret)
                #expect(basic.status == (methods.contains(.basic) ? 200 : 401))
                #expect(post.status == (methods.contains(.post) ? 200 : 401))
                let document = try await api.get("/.well-known/openid-configuration")
                let names = JSONValue.array(methods.map { .string($0.rawValue) })
                #expect(document.json["token_endpoint_auth_methods_supported"] == names)
                #expect(document.json["revocation_endpoint_auth_methods_supported"] == names)
            }
        }
    }

    @Test("A wrong, missing or duplicate client secret returns invalid_client")
    func refusals() async throws {
        try await TestServer(settings: Self.settings([.basic, .post])).run { api in
            let shown: [(basic: String?, post: String?)] = [
                ("wrong", nil), (nil, "wrong"), (nil, nil), (Self.secret, Self.secret),
            ]
            for (basic, post) in shown {
                let response = try await signIn(api, basic: basic, post: post)
                #expect(response.status == 401)
                #expect(response.error == "invalid_client")
                #expect(response.headers[.wwwAuthenticate] == basic.map { _ in #"Basic realm="account""# })
            }
        }
    }

    @Test("A client with a secret gets a token for itself, which identifies no user")
    func clientGrant() async throws {
        let pairs = [("grant_type", "client_credentials"), ("client_id", "account-cli")]
        try await TestServer(settings: Self.settings([.basic])).run { api in
            let response = try await api.form("/oauth/token", pairs, headers: Self.field(Self.secret))
            #expect(response.status == 200)
            #expect(response.json["access_token"] != nil)
            #expect(response.json["refresh_token"] == nil)
        }
        try await TestServer().run { api in
            let response = try await api.form("/oauth/token", pairs)
            #expect(response.error == "unsupported_grant_type")
        }
    }

    @Test("The device and revocation endpoints require the client secret")
    func everywhere() async throws {
        try await TestServer(settings: Self.settings([.basic])).run { api in
            for path in ["/oauth/device_authorization", "/oauth/revoke"] {
                #expect(try await api.form(path, ["token": "x"]).status == 401)
                let response = try await api.form(path, ["token": "x"], headers: Self.field(Self.secret))
                #expect(response.status == 200, "\(path): \(response.body)")
            }
        }
    }
}
