import AccountKit
import AccountSupport

/// A pushed authorization request (RFC 9126): the service has the parameters, and the URL for the browser only names them.
struct PushedRequest: Sendable, Equatable {
    /// The name of the request at the service, which is valid once.
    let uri: String

    /// How long the page of the sign-in can be opened.
    let lifetime: Duration
}

extension SignInGrants {
    /// Sends the parameters of an authorization request to the service (RFC 9126, section 2.1). The client authenticates as at
    /// the token endpoint, and proves the key of the session, to which the service then binds the code (RFC 9449, section
    /// 10.1).
    func push(
        _ authorization: AuthorizationRequest, as chosen: RegisteredClient, key: ProofKey? = nil
    ) async throws(AuthorityError) -> PushedRequest {
        let documents = connection.documents
        guard let endpoint = try await documents.endpoint(.pushedAuthorization) else {
            throw documents.flaw(of: .pushedAuthorization)
                ?? .misconfigured(
                    "\(connection.name) requires pushed authorization requests (RFC 9126), but its metadata name no endpoint "
                        + "for them; sign in on another device (on a command line, with --device)")
        }
        let methods = try await documents.endpoint(.token)?.document.tokenAuthentication
        let form = authorization.parameters(includingClientID: false)
        return try await notingRejection(of: chosen) { client throws(AuthorityError) in
            var request = try await clients.request(form, to: endpoint, as: client, authentication: methods)
            request.secrets += authorization.secrets
            request.key = key
            return try ResponseParser(.pushedAuthorization, sent: request.secrets, quirks: connection.quirks)
                .pushedRequest(in: try await connection.send(request))
        }
    }
}

extension ResponseParser {
    /// Parses the response to a pushed authorization request (RFC 9126, section 2.2). The URI is part of a URL that the user
    /// opens, so it must be short and printable.
    func pushedRequest(in response: ServiceResponse) throws(AuthorityError) -> PushedRequest {
        let object = try responseObject(in: response).members
        guard let uri = object["request_uri"]?.string, !uri.isEmpty, uri.utf8.count <= 2048,
            uri.utf8.allSatisfy({ 0x21...0x7E ~= $0 })
        else { throw .unclear("\(endpoint.name) sent no request_uri") }
        return PushedRequest(
            uri: uri, lifetime: seconds(object["expires_in"]?.decimal?.rounded(.down), in: 1...86_400, otherwise: 60))
    }
}
