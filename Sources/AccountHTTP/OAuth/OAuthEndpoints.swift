public import AccountKit

/// The endpoints of a service without a discovery document.
///
/// With only the token endpoint, users can sign in and refresh. Other functions report a missing endpoint. All URLs
/// must be `https`, or `http` on the loopback interface.
public struct OAuthEndpoints: Sendable, Hashable {
    /// Always includes the token endpoint.
    let urls: [EndpointName: ServiceURL]

    /// Creates endpoints.
    ///
    /// - Parameters:
    ///   - token: The token endpoint (RFC 6749, section 3.2).
    ///   - userInfo: The user info endpoint (OpenID Connect Core, section 5.3). Without it, an account cannot be
    ///     verified.
    ///   - revocation: The revocation endpoint (RFC 7009). Without it, the tokens stay valid after a sign-out until
    ///     they expire.
    ///   - deviceAuthorization: The device authorization endpoint (RFC 8628, section 3.1).
    ///   - authorization: The authorization endpoint, for a sign-in with a browser (RFC 6749, section 3.1).
    /// - Throws: `invalidArgument` if a token must not be sent to a URL.
    public init(
        token: String, userInfo: String? = nil, revocation: String? = nil, deviceAuthorization: String? = nil,
        authorization: String? = nil
    ) throws(AccountError) {
        var urls: [EndpointName: ServiceURL] = [:]
        for (name, text) in [
            (EndpointName.token, token), (.userInfo, userInfo), (.revocation, revocation),
            (.deviceAuthorization, deviceAuthorization), (.authorization, authorization),
        ] {
            guard let text else { continue }
            do throws(ServiceURL.Flaw) {
                urls[name] = try ServiceURL(text)
            } catch {
                let words = name.rawValue.replacing("userinfo", with: "user info").replacing("_", with: " ")
                throw AccountError(.invalidArgument, "the \(words)\(ServiceURL.shown(text)) \(error.text)")
            }
        }
        self.urls = urls
    }

    init?(_ urls: [EndpointName: ServiceURL]) {
        guard urls[.token] != nil else { return nil }
        self.urls = urls
    }
}
