public import AccountKit

/// The addresses of an OAuth service, for one that has no discovery document.
///
/// A service of which nothing but the token endpoint is given can sign in and refresh; what needs another endpoint says
/// so. All addresses are `https`, or `http` on the loopback interface.
public struct OAuthEndpoints: Sendable, Hashable {
    let tokenURL: ServiceURL
    let userInfoURL: ServiceURL?
    let revocationURL: ServiceURL?
    let deviceAuthorizationURL: ServiceURL?
    let authorizationURL: ServiceURL?

    /// Creates endpoints.
    ///
    /// - Parameters:
    ///   - token: Issues tokens (RFC 6749, section 3.2).
    ///   - userInfo: Says whose an access token is (OpenID Connect Core, section 5.3). Without it an account cannot be
    ///     verified.
    ///   - revocation: Takes tokens back (RFC 7009). Without it tokens live on at the service after a sign-out.
    ///   - deviceAuthorization: Begins a sign-in on another device (RFC 8628, section 3.1).
    ///   - authorization: Signs in by browser (RFC 6749, section 3.1).
    /// - Throws: `invalidArgument`, if an address is not one that a token may be sent to.
    public init(
        token: String, userInfo: String? = nil, revocation: String? = nil, deviceAuthorization: String? = nil,
        authorization: String? = nil
    ) throws(AccountError) {
        tokenURL = try Self.url(token, "token")
        userInfoURL = try userInfo.map { text throws(AccountError) in try Self.url(text, "user info") }
        revocationURL = try revocation.map { text throws(AccountError) in try Self.url(text, "revocation") }
        deviceAuthorizationURL = try deviceAuthorization.map { text throws(AccountError) in
            try Self.url(text, "device authorization")
        }
        authorizationURL = try authorization.map { text throws(AccountError) in try Self.url(text, "authorization") }
    }

    /// Endpoints that have been checked; `nil` if none of them issues tokens.
    init?(_ urls: [EndpointName: ServiceURL]) {
        guard let token = urls[.token] else { return nil }
        tokenURL = token
        userInfoURL = urls[.userInfo]
        revocationURL = urls[.revocation]
        deviceAuthorizationURL = urls[.deviceAuthorization]
        authorizationURL = urls[.authorization]
    }

    /// The endpoints by name.
    var urls: [EndpointName: ServiceURL] {
        let urls: [EndpointName: ServiceURL?] = [
            .token: tokenURL, .userInfo: userInfoURL, .revocation: revocationURL,
            .deviceAuthorization: deviceAuthorizationURL, .authorization: authorizationURL,
        ]
        return urls.compactMapValues(\.self)
    }

    /// Issues tokens.
    public var token: String { tokenURL.description }

    /// Says whose an access token is.
    public var userInfo: String? { userInfoURL?.description }

    /// Takes tokens back.
    public var revocation: String? { revocationURL?.description }

    /// Begins a sign-in on another device.
    public var deviceAuthorization: String? { deviceAuthorizationURL?.description }

    /// Signs in by browser.
    public var authorization: String? { authorizationURL?.description }

    private static func url(_ text: String, _ name: String) throws(AccountError) -> ServiceURL {
        do {
            return try ServiceURL(text)
        } catch {
            let shown = text.contains("@") || text.utf8.count > 200 ? "" : " \"\(text)\""
            throw AccountError(.invalidArgument, "the \(name) endpoint\(shown) \(error.text)")
        }
    }
}
