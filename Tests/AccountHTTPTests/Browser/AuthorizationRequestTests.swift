import AccountSupport
import AccountKit
import Testing

@testable import AccountHTTP

@Suite("Authorization requests")
struct AuthorizationRequestTests {
    private func request(_ scopes: [String] = ["openid", "a:b"], nonce: String? = "n") -> AuthorizationRequest {
        AuthorizationRequest(
            clientID: "my tool&x=1", scopes: scopes, redirectURI: "http://127.0.0.1:4711/callback", state: "s",
            nonce: nonce, pkce: PKCE(verifier: Secret("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")))
    }

    private static let start = "response_type=code&client_id=my+tool%26x%3D1"
    private static let redirect = "&redirect_uri=http%3A%2F%2F127.0.0.1%3A4711%2Fcallback"
    private static let end = "&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256"

    @Test(
        "Encodes all authorization parameters and keeps an existing query",
        arguments: [
            ("https://id.example/auth", "https://id.example/auth?"),
            ("https://id.example/auth?", "https://id.example/auth?"),
            ("https://id.example/auth?p=b2c", "https://id.example/auth?p=b2c&"),
            ("https://id.example", "https://id.example?"),
        ])
    func address(_ endpoint: String, _ prefix: String) throws {
        #expect(
            request().url(at: try ServiceURL(endpoint))
                == prefix + Self.start + Self.redirect + "&scope=openid+a%3Ab&state=s&nonce=n" + Self.end)
    }

    @Test("Omits authorization parameters that are not requested")
    func without() throws {
        #expect(
            request([], nonce: nil).url(at: try ServiceURL("https://id.example/a"))
                == "https://id.example/a?" + Self.start + Self.redirect + "&state=s" + Self.end)
    }

    @Test("Sends a nonce only with openid, and the port in the redirect URI", arguments: [true, false])
    func nonce(_ isOpenID: Bool) {
        let request = AuthorizationRequest(
            clientID: "tool", scopes: isOpenID ? ["openid"] : ["repo"], port: 4711, state: "s")
        #expect((request.nonce != nil) == isOpenID)
        #expect(request.redirectURI == "http://127.0.0.1:4711/callback")
        #expect(request.state == "s")
    }
}
