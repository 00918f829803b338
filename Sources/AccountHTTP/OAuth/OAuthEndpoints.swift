public import AccountKit

/// The URLs of an OAuth service, for one that has no discovery document.
///
/// A service of which nothing but the token endpoint is given can sign in and refresh; what needs another endpoint says
/// so. All URLs are `https`, or `http` on the loopback interface.
public struct OAuthEndpoints: Sendable, Hashable {
    /// Always has that for tokens.
    let urls: [EndpointName: ServiceURL]

    /// Creates endpoints.
    ///
    /// - Parameters:
    ///   - token: Issues tokens (RFC 6749, section 3.2).
    ///   - userInfo: Says whose an access token is (OpenID Connect Core, section 5.3). Without it an account cannot be
    ///     verified.
    ///   - revocation: Takes tokens back (RFC 7009). Without it tokens live on at the service after a sign-out.
    ///   - deviceAuthorization: Begins a sign-in on another device (RFC 8628, section 3.1).
    ///   - authorization: Signs in by browser (RFC 6749, section 3.1).
    /// - Throws: `invalidArgument`, if a URL is not one that a token may be sent to.
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

    /// Without checking the URLs again; `nil` if none of them issues tokens.
    init?(_ urls: [EndpointName: ServiceURL]) {
        guard urls[.token] != nil else { return nil }
        self.urls = urls
    }
}
