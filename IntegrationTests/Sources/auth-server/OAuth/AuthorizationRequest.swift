/// A client's request in the browser.
///
/// Source: RFC 6749, section 4.1.1; RFC 7636, section 4.3; OpenID Connect Core 1.0, section 3.1.2.1.
struct AuthorizationRequest: Sendable {
    let redirectURI: RedirectURI
    let scope: Scope
    let target: Target
    let state: String?
    let nonce: String?
    let challenge: CodeChallenge
    /// All parameters of the client, which the form includes.
    let parameters: [String: String]

    /// The reason why the browser is not redirected, since the address may not belong to the client.
    ///
    /// Source: RFC 6749, section 4.1.2.1.
    struct Untrusted: Error {
        let explanation: String
    }

    /// The reason why the browser is redirected without a code.
    struct Refusal: Error {
        let error: OAuthError
        let redirectURI: RedirectURI
        let state: String?
    }

    /// - Throws: `Untrusted` or `Refusal`.
    init(_ parameters: [String: String], settings: ServerSettings) throws {
        self.parameters = parameters
        let clientID = parameters["client_id"]
        guard settings.knows(client: clientID) else {
            throw Untrusted(explanation: "The program that sent you here is not known to this server.")
        }
        guard let redirectURI = parameters["redirect_uri"].flatMap({ RedirectURI($0) }),
            clientID.flatMap({ settings.clients[$0] })?.redirectURIs.contains(redirectURI.text)
                ?? settings.allows(redirectURI)
        else {
            throw Untrusted(explanation: "The program that sent you here did not say properly where to send you back.")
        }
        self.redirectURI = redirectURI
        state = parameters["state"]
        nonce = parameters["nonce"]
        do {
            (scope, challenge) = try Self.checked(parameters, settings: settings)
            target = try Target(parameters, settings: settings)
            try target.requireAudience(settings: settings)
        } catch let error as OAuthError {
            throw Refusal(error: error, redirectURI: redirectURI, state: state)
        }
    }

    func refusal(_ error: OAuthError) -> Refusal {
        Refusal(error: error, redirectURI: redirectURI, state: state)
    }

    private static func checked(_ parameters: [String: String], settings: ServerSettings) throws -> (
        Scope, CodeChallenge
    ) {
        try settings.personality.check(parameters)
        guard let responseType = parameters["response_type"] else {
            throw OAuthError(.invalidRequest, "response_type is missing")
        }
        guard responseType == "code" else {
            throw OAuthError(.unsupportedResponseType, "the only response_type is code")
        }
        // The default method is plain (RFC 7636, section 4.3).
        guard parameters["code_challenge_method"] == CodeChallenge.method else {
            throw OAuthError(.invalidRequest, "the only code_challenge_method is S256")
        }
        guard let challenge = parameters["code_challenge"].flatMap({ CodeChallenge($0) }) else {
            throw OAuthError(.invalidRequest, "code_challenge is missing or malformed")
        }
        guard parameters["prompt"] != "none" else {
            throw OAuthError(.loginRequired, "this server remembers no browser")
        }
        guard
            let scope = parameters["scope"].map({ Scope($0, of: settings.knownScope) })
                ?? settings.defaultScope
        else {
            throw OAuthError(.invalidScope, "scope has an unknown name")
        }
        return (scope, challenge)
    }
}
