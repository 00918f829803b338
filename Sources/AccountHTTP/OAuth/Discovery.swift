import AccountKit

/// What is known of a service.
struct ServiceMetadata: Sendable {
    let endpoints: OAuthEndpoints

    /// Whether the answers that a browser brings name the service (RFC 9207, section 3).
    var namesIssuer = false

    /// Where documents may be that were not read, since the one before them was there.
    var unread: [ServiceURL] = []
}

/// Where a service says what its endpoints are, and what is believed of it.
///
/// Sources: OpenID Connect Discovery 1.0, sections 3 and 4; RFC 8414, sections 2 and 3.
struct Discovery: Sendable {
    let issuer: Issuer

    /// The service, if it is known.
    var service: KnownService?

    /// Where the document may be, in the order of asking. The next one is asked only if the one before is not there (404).
    ///
    /// OpenID Connect's comes first: nearly every service that has one at all has that one, also those that have both.
    var addresses: [ServiceURL] {
        let url = issuer.url
        return [
            // OpenID Connect Discovery, section 4.1: after the path of the issuer.
            ServiceURL(at: url, path: url.path + "/.well-known/openid-configuration"),
            // RFC 8414, section 3.1: between host and path.
            ServiceURL(at: url, path: "/.well-known/oauth-authorization-server" + url.path),
        ]
    }

    /// No document was at any of the addresses.
    var isMissing: AuthoritySignal {
        .misconfigured(
            "\(issuer.identifier) has no discovery document: check the issuer, or give the endpoints yourself")
    }

    /// The endpoints of a document, if the document is the issuer's.
    ///
    /// The issuer must be the configured one, so that one service cannot send another's users to itself (RFC 8414,
    /// section 6.2). Endpoints may be on other hosts, as with large services, but only over TLS; an issuer that is itself
    /// `http` on the loopback interface may have its endpoints there too.
    func endpoints(in reply: HTTPReply) throws(AuthoritySignal) -> OAuthEndpoints {
        try metadata(in: reply).endpoints
    }

    /// All that is taken from a document, under the same conditions.
    ///
    /// - Parameters:
    ///   - reply: The document.
    ///   - unread: Where another document may be.
    func metadata(in reply: HTTPReply, unread: [ServiceURL] = []) throws(AuthoritySignal) -> ServiceMetadata {
        let document = try document(in: reply)
        guard let token = try url("token_endpoint", in: document) else {
            throw .misconfigured("the discovery document of \(issuer.identifier) names no token_endpoint")
        }
        let endpoints = OAuthEndpoints(
            token: token,
            userInfo: try url("userinfo_endpoint", in: document),
            revocation: try url("revocation_endpoint", in: document),
            deviceAuthorization: try url("device_authorization_endpoint", in: document),
            authorization: try url("authorization_endpoint", in: document))
        return ServiceMetadata(
            endpoints: service?.endpoints(at: issuer, found: endpoints) ?? endpoints,
            namesIssuer: document["authorization_response_iss_parameter_supported"] == .boolean(true),
            unread: unread)
    }

    /// The revocation endpoint of a further document, which need not name any other.
    func revocation(in reply: HTTPReply) throws(AuthoritySignal) -> ServiceURL? {
        try url("revocation_endpoint", in: try document(in: reply))
    }

    private func document(in reply: HTTPReply) throws(AuthoritySignal) -> JSONObject {
        let reading = ReplyReading(.discovery)
        let document = try reading.object(in: reply)
        guard let documentIssuer = try string("issuer", in: document) else {
            throw .misconfigured("the discovery document of \(issuer.identifier) names no issuer")
        }
        guard issuer.isNamed(by: documentIssuer) else {
            throw .misconfigured(
                """
                the discovery document of \(issuer.identifier) is for another issuer\
                \(reading.text.shown(documentIssuer).map { ", \($0)" } ?? "")
                """)
        }
        return document
    }

    private func string(_ name: String, in document: JSONObject) throws(AuthoritySignal) -> String? {
        switch document[name] {
        case nil, .null?: return nil
        case .string(let value)?: return value
        default: throw .unclear("in the discovery document of \(issuer.identifier), \(name) is no string")
        }
    }

    private func url(_ name: String, in document: JSONObject) throws(AuthoritySignal) -> ServiceURL? {
        guard let text = try string(name, in: document) else { return nil }
        let url: ServiceURL
        do {
            url = try ServiceURL(text)
        } catch {
            throw .misconfigured("in the discovery document of \(issuer.identifier), \(name) \(error.text)")
        }
        guard url.scheme == "https" || issuer.url.scheme == "http" else {
            throw .misconfigured("in the discovery document of \(issuer.identifier), \(name) is not encrypted")
        }
        return url
    }
}
