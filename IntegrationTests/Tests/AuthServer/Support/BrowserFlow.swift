import HTTPTypes
import Testing

@testable import auth_server

/// A sign-in with the browser: the client's request, the user's decision, and the redirect.
struct BrowserFlow: Sendable {
    /// The verifier and challenge of the example in RFC 7636, appendix B.
    static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

    static let callback = "http://127.0.0.1:49152/callback"

    var path = "/oauth/authorize"
    var parameters = [
        "response_type": "code",
        "client_id": "account-cli",
        "redirect_uri": callback,
        "scope": "openid email",
        "state": "s t&te",
        "nonce": "n-0S6",
        "code_challenge": challenge,
        "code_challenge_method": "S256",
    ]

    /// Returns the flow with changed parameters, where `nil` omits a parameter.
    func with(_ changes: [String: String?]) -> BrowserFlow {
        var flow = self
        for (name, value) in changes {
            flow.parameters[name] = value
        }
        return flow
    }

    func open(_ api: API) async throws -> API.Response {
        try await api.get(path + "?" + API.encoded(parameters.map { ($0.key, $0.value) }))
    }

    /// Submits the form.
    func decide(
        _ api: API,
        username: String = "alice",
        password: String = API.alicePassword,
        decision: String = "approve"
    ) async throws -> API.Response {
        var fields = parameters.map { ($0.key, $0.value) }
        fields += [("username", username), ("password", password), ("decision", decision)]
        return try await api.form(path, fields)
    }

    /// Signs in and returns the code.
    func code(_ api: API) async throws -> String {
        let response = try await decide(api)
        guard let code = try Self.parameters(of: response)["code"] else {
            throw API.Missing(description: "no code in \(response.status) \(response.body)")
        }
        return code
    }

    /// The parameters of the redirect to the client, or none without a redirect.
    static func parameters(of response: API.Response) throws -> [String: String] {
        let parts = response.headers[.location]?.split(separator: "?", maxSplits: 1) ?? []
        return parts.count == 2 ? try FormBody.parameters(in: String(parts[1])) : [:]
    }
}

extension API {
    /// Exchanges a code.
    func redeem(
        _ code: String,
        redirectURI: String = BrowserFlow.callback,
        verifier: String = BrowserFlow.verifier
    ) async throws -> Response {
        try await form(
            "/oauth/token",
            [
                "grant_type": "authorization_code", "code": code, "redirect_uri": redirectURI,
                "code_verifier": verifier,
            ]
        )
    }
}
