import AccountKit
import AccountSupport

/// The identity provider of an organization, which issues assertions for its users to other services.
struct IdentityProvider: Sendable, Hashable {
    /// The issuer identifier.
    let issuer: String

    /// The client ID at the identity provider.
    let clientID: String

    /// The source of the ID tokens.
    let source: WorkloadSource

    func check() throws(AccountError) {
        _ = try Issuer(issuer)
        try OAuthClient(identifier: clientID).check()
        if case .identityAssertion = source.kind {
            throw AccountError(
                .invalidArgument, "the ID token of an identity provider cannot come from another identity provider",
                hint:
                    "name the source of the ID token after the client ID: 'env NAME', 'file PATH' or 'command PROGRAM'")
        }
        try source.check()
    }
}

/// Identity assertions (draft-ietf-oauth-identity-assertion-authz-grant).
extension OAuthAuthority {
    private static let assertionType = "urn:ietf:params:oauth:token-type:id-jag"

    /// Exchanges an ID token at the identity provider for an assertion for this service (RFC 8693; section 4.3 of the
    /// draft).
    func identityAssertion(
        from provider: IdentityProvider, for idToken: Secret, resources: [String], scopes: [String]
    ) async throws(AuthorityError) -> Secret {
        let response: ResponseObject
        do throws(AuthorityError) {
            response = try await authority(of: provider).exchange(
                idToken, forService: issuer, resources: resources, scopes: scopes)
        } catch {
            // Other failures may be temporary. The service has not received the token request.
            guard error.isRefusal else { throw error.notSent(at: .preparation) }
            throw .misconfigured(
                "\(provider.issuer) \(MachineGrant.noAssertion) for \(issuer) (\(SessionDecision.reason(for: error))): check that the "
                    + "ID token is valid, and that the identity provider allows the client \(provider.clientID) to use this "
                    + "service")
        }
        guard let assertion = response.secrets["access_token"],
            response.members["issued_token_type"]?.string == Self.assertionType
        else {
            throw .misconfigured(
                "\(provider.issuer) issued another token instead of an assertion: check that it supports identity "
                    + "assertions (\(Self.assertionType))")
        }
        return assertion
    }

    private func authority(of provider: IdentityProvider) throws(AuthorityError) -> OAuthAuthority {
        do throws(AccountError) {
            return try OAuthAuthority(
                issuer: provider.issuer, clientID: provider.clientID, timeout: timeout, clock: clock, logger: logger)
        } catch {
            throw .misconfigured(error.message)
        }
    }

    private func exchange(
        _ idToken: Secret, forService service: String, resources: [String], scopes: [String]
    ) async throws(AuthorityError) -> ResponseObject {
        guard let endpoint = try await documents.endpoint(.token) else {
            throw documents.flaw(of: .token) ?? discovery.namesNoToken
        }
        var form = FormBody()
        form.append("grant_type", WorkloadGrant.tokenExchange.type)
        form.append("subject_token", idToken)
        form.append("subject_token_type", "urn:ietf:params:oauth:token-type:id_token")
        form.append("requested_token_type", Self.assertionType)
        form.append("audience", service)
        for resource in resources { form.append("resource", resource) }
        if !scopes.isEmpty { form.append("scope", scopes.joined(separator: " ")) }
        let request = try await request(
            form, to: endpoint, as: clientID.map { RegisteredClient(id: $0) }, authentication: nil)
        return try ResponseParser(.token, sent: request.secrets, quirks: quirks).responseObject(
            in: try await send(request))
    }
}

extension AuthorityError {
    /// Whether the identity provider refuses this request, and will refuse it again.
    fileprivate var isRefusal: Bool {
        switch self {
        case .oauthError(.serverError, _), .oauthError(.temporarilyUnavailable, _): false
        case .oauthError, .badRequest, .misconfigured: true
        default: false
        }
    }
}
