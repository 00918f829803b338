public import AccountKit
import AccountSupport

/// The endpoints of a service without a discovery document.
///
/// The token endpoint is sufficient to sign in and to refresh. Functions that need another endpoint report that it is
/// missing. All URLs must be `https`, or `http` on the loopback interface.
public struct OAuthEndpoints: Sendable, Hashable {
    /// The URLs, which always include the token endpoint.
    let urls: [EndpointName: ServiceURL]

    /// Creates the endpoints of a service.
    ///
    /// - Parameters:
    ///   - token: The token endpoint (RFC 6749, section 3.2).
    ///   - userInfo: The user info endpoint (OpenID Connect Core, section 5.3). Without it, AccountKit cannot verify an
    ///     account.
    ///   - revocation: The revocation endpoint (RFC 7009). Without it, the tokens stay valid after a sign-out until
    ///     they expire.
    ///   - deviceAuthorization: The device authorization endpoint (RFC 8628, section 3.1).
    ///   - authorization: The authorization endpoint, for a sign-in with a browser (RFC 6749, section 3.1).
    /// - Throws: `invalidArgument` if AccountKit must not send a token to one of the URLs.
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
