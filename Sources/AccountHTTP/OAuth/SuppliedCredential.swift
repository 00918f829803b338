package import AccountKit
import AccountSupport

/// A credential that the app or the user supplies for a sign-in. An issuer that only an API names does not receive it.
enum SuppliedCredential: String, Sendable {
    case clientSecret = "the client secret"
    case clientKey = "an assertion of the client key"
    case assertion = "the assertion of the workload"
    case password = "the password"
    case token = "the token"
}

extension OAuthClient {
    /// The credential with which this client authenticates; `nil` for a client without one. The secret of a registration
    /// does not count, because its issuer issued it.
    var supplied: SuppliedCredential? {
        if workload != nil { return .assertion }
        guard identifier != nil else { return nil }
        if assertion != nil { return .clientKey }
        return secret == nil ? nil : .clientSecret
    }
}

extension OAuthAuthority {
    /// Whether only an API names the issuer, and not the app, the user or the entry of a known service. If the URL of the API
    /// is the issuer, the app or the user named it with the URL.
    var isNamedByAPIOnly: Bool {
        guard let api, !api.isIssuerGiven, service == nil else { return false }
        return api.url != (try? ServiceURL(issuer))
    }
}

extension APIAuthority {
    /// Returns the authority for a sign-in.
    ///
    /// - Parameter supplied: The credential of the user that the sign-in sends, in addition to that of the client.
    /// - Throws: An `AccountError` with the code `misconfigured` if the issuer must not receive a credential of the
    ///   sign-in; otherwise an `AuthorityError`.
    func authority(receiving supplied: SuppliedCredential?) async throws -> OAuthAuthority {
        let authority = try await signInAuthority()
        try checkMayReceive(supplied ?? authority.client.supplied, authority)
        return authority
    }

    private func checkMayReceive(
        _ supplied: SuppliedCredential?, _ authority: OAuthAuthority
    ) throws(AccountError) {
        guard let supplied, authority.isNamedByAPIOnly else { return }
        let issuer = authority.issuer
        throw AccountError(
            .misconfigured,
            "\(supplied.rawValue) is sent only to a service that you name, and only \(url) names \(issuer)",
            hint: "if you trust \(issuer), name it (on a command line, with --issuer \(issuer))")
    }
}

extension APIAuthority {
    package func signInService() async throws(AccountError) -> SignInService? {
        let authority: OAuthAuthority
        do throws(AuthorityError) {
            authority = try await signInAuthority()
        } catch {
            throw AccountError(signIn: error, advice: "check the URL")
        }
        try checkMayReceive(authority.client.supplied, authority)
        let issuerURL = authority.issuerIdentifier.url
        return SignInService(
            issuer: authority.issuer, place: issuerURL.authority, apiPlace: apiURL.authority,
            isNamedByAPIOnly: authority.isNamedByAPIOnly, isNearAPI: apiURL.isNear(issuerURL))
    }
}

extension ServiceURL {
    /// Whether two hosts are equal, or one is a subdomain of the other.
    func isNear(_ other: ServiceURL) -> Bool {
        host == other.host || host.hasSuffix("." + other.host) || other.host.hasSuffix("." + host)
    }
}
