import AccountKit
import AccountSupport

/// Options of a sign-in, for services that need more than scopes.
///
/// ```swift
/// let authority = try OAuthAuthority(
///     issuer: "https://login.example.com", clientID: "mytool",
///     options: OAuthRequestOptions(audience: "https://api.example.com", parameters: ["prompt": "login"]))
/// ```
public struct OAuthRequestOptions: Sendable, Hashable {
    var redirectURI: String?
    var audience: String?
    var resources: [String]
    var omitsResource: Bool
    var parameters: [String: String]
    var clientAuthentication: ClientAuthentication?
    var username: String?
    var bindsTokens: Bool

    /// Creates options.
    ///
    /// - Parameters:
    ///   - redirectURI: The redirect URI, exactly as registered with the service: `http` on the loopback interface, with a
    ///     port and a path. If `nil`, a sign-in uses any free port and the path `/callback` (RFC 8252, section 7.3).
    ///   - audience: The `audience` of the access token, for services that support this parameter. AccountKit sends it when
    ///     a sign-in begins.
    ///   - resources: The APIs of the access token (RFC 8707): absolute URIs without a fragment. AccountKit sends them when
    ///     a sign-in begins, and with each token request.
    ///   - omitsResource: Whether to leave out the parameter `resource` (RFC 8707), for services that refuse it. The session
    ///     is still for its API. AccountKit stores this choice with the session, and leaves the parameter out automatically
    ///     for a ``KnownService`` that refuses it. Requests then repeat the scopes, which alone name the API.
    ///   - parameters: The values of further parameters for browser and device sign-ins, such as `prompt` or `login_hint`,
    ///     by name.
    ///   - clientAuthentication: The method with which the client sends its secret. If `nil`, AccountKit chooses a method
    ///     that the service supports.
    ///   - username: The name of the user, for a service that cannot identify the user because it has no user info, ID
    ///     tokens or introspection.
    ///   - bindsTokens: Whether a sign-in binds the tokens to a key of the session (RFC 9449), so that a copy of the tokens
    ///     is useless to others. A sign-in fails if the service does not bind the tokens. Requires the package trait
    ///     `Signatures`.
    public init(
        redirectURI: String? = nil, audience: String? = nil, resources: [String] = [], omitsResource: Bool = false,
        parameters: [String: String] = [:], clientAuthentication: ClientAuthentication? = nil,
        username: String? = nil, bindsTokens: Bool = false
    ) {
        self.redirectURI = redirectURI
        self.audience = audience
        self.resources = resources
        self.omitsResource = omitsResource
        self.parameters = parameters
        self.clientAuthentication = clientAuthentication
        self.username = username
        self.bindsTokens = bindsTokens
    }
}

extension OAuthRequestOptions {
    /// Throws an error if a value is not valid, or if a parameter has its own option or is set by AccountKit.
    func check() throws(AccountError) {
        if let redirectURI { _ = try LoopbackRedirect(redirectURI) }
        if let audience, !RequestRules.isAudience(audience) {
            throw AccountError(.invalidArgument, "the audience must not be empty or contain control characters")
        }
        for resource in resources where !RequestRules.isResource(resource) {
            throw AccountError(
                .invalidArgument,
                "the resource\(ServiceURL.shown(resource)) must be an absolute URI without a fragment (#…), such as "
                    + "https://api.example.com/ (RFC 8707)")
        }
        for (name, value) in sortedParameters { try Self.check(name, value) }
    }

    /// The parameters by name, so that equal options lead to equal requests.
    var sortedParameters: [(name: String, value: String)] {
        parameters.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
    }

    private static func check(_ name: String, _ value: String) throws(AccountError) {
        guard !name.isEmpty, name.utf8.allSatisfy({ 0x21...0x7E ~= $0 }), isPlain(value) else {
            throw AccountError(
                .invalidArgument,
                "the parameter\(ServiceURL.shown(name)) must have a visible ASCII name and no control characters")
        }
        guard let option = RequestRules.reservedParameters[name.lowercased()] else { return }
        let advice = option.map { "use the option for the \($0)" } ?? "AccountKit sets it"
        throw AccountError(.invalidArgument, "the parameter \"\(name)\" cannot be set: \(advice)")
    }

    private static func isPlain(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }
}
