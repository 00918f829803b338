import AccountKit
import AccountSupport

/// An authorization request (RFC 6749, section 4.1; RFC 7636, section 4; RFC 8252, section 7.3; OpenID Connect Core,
/// section 3.1.2.1).
struct AuthorizationRequest: Sendable {
    let clientID: String
    let scopes: [String]

    /// The redirect URI, which the request to the token endpoint must repeat exactly.
    let redirectURI: String

    /// The value that the response must repeat, as proof that the response belongs to this request.
    let state: String

    /// The value that the ID token must repeat, or `nil` if the request is not for an ID token.
    let nonce: String?

    let pkce: PKCE
    var options = OAuthRequestOptions()

    /// The resources to name.
    var resources: [String] = []

    /// Additional parameters that the service requires. Parameters in ``options`` take precedence.
    var parameters: [String: String] = [:]

    /// Values that must not appear in any error or page.
    var secrets: [Secret] { [pkce.verifier, Secret(state)] + (nonce.map { [Secret($0)] } ?? []) }

    /// Returns the parameters. A pushed request names the client where it authenticates.
    func parameters(includingClientID includesClientID: Bool) -> FormBody {
        var form = FormBody()
        form.append("response_type", "code")
        if includesClientID { form.append("client_id", clientID) }
        form.append("redirect_uri", redirectURI)
        if !scopes.isEmpty { form.append("scope", scopes.joined(separator: " ")) }
        form.append("state", state)
        if let nonce { form.append("nonce", nonce) }
        form.append("code_challenge", pkce.challenge)
        form.append("code_challenge_method", "S256")
        if let audience = options.audience { form.append("audience", audience) }
        for resource in resources { form.append("resource", resource) }
        for (name, value) in parameters.sorted(by: { $0.key < $1.key }) where options.parameters[name] == nil {
            form.append(name, value)
        }
        for (name, value) in options.sortedParameters { form.append(name, value) }
        return form
    }

    /// Returns the URL of the request, including any query of the endpoint (RFC 6749, section 3.1).
    ///
    /// - Parameter requestURI: The name of the request at the service, if it was pushed (RFC 9126, section 4).
    func url(at endpoint: ServiceURL, pushedAs requestURI: String? = nil) -> String {
        var form = FormBody()
        if let requestURI {
            form.append("client_id", clientID)
            form.append("request_uri", requestURI)
        } else {
            form = parameters(includingClientID: true)
        }
        let separator =
            switch endpoint.query {
            case nil: "?"
            case let query? where query.isEmpty || query.hasSuffix("&"): ""
            default: "&"
            }
        return endpoint.description + separator + String(decoding: form.bytes, as: UTF8.self)
    }

    func form(with code: Secret) -> FormBody {
        var form = FormBody()
        form.append("grant_type", "authorization_code")
        form.append("code", code)
        form.append("redirect_uri", redirectURI)
        form.append("code_verifier", pkce.verifier)
        return form
    }
}

extension AuthorizationRequest {
    init(
        clientID: String, scopes: [String], port: Int, state: String,
        options: OAuthRequestOptions = OAuthRequestOptions(), resources: [String] = [],
        quirks: ServiceQuirks = .standard
    ) {
        self.init(
            clientID: clientID, scopes: scopes,
            redirectURI: options.redirectURI
                ?? "http://\(quirks.redirectHost):\(port)\(LoopbackRequest.callbackPath)",
            state: state, nonce: scopes.contains("openid") ? Base64URL.random() : nil, pkce: .random(),
            options: options, resources: resources, parameters: quirks.authorizationParameters)
    }
}
