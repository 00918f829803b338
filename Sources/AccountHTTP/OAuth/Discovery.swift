import AccountKit
import AccountSupport

/// The locations of an issuer's discovery documents, and the rules for their content (OpenID Connect Discovery 1.0,
/// sections 3 and 4; RFC 8414, sections 2 and 3).
struct Discovery: Sendable {
    let issuer: Issuer
    var service: KnownService?

    /// Whether an API named the issuer. AccountKit then relies only on what the documents of the API and the issuer say.
    var isFromAPI = false

    /// Whether the endpoints must be on the server of the issuer, because the app and the user did not name the issuer.
    var isLimitedToOwnServer = false

    /// The URLs of the documents. The well-known path follows the path of the issuer (OpenID Connect Discovery, section 4.1),
    /// or is between its host and its path (RFC 8414, sections 3.1 and 5). The first form comes first, because nearly every
    /// service with a discovery document has it, except for an issuer that an API named.
    var urls: [ServiceURL] {
        let url = issuer.url
        let following = url.path + "/.well-known/openid-configuration"
        let between = ["oauth-authorization-server", "openid-configuration"].map { "/.well-known/\($0)\(url.path)" }
        let paths = isFromAPI ? between + [following] : [following] + between
        // Without a path, both forms for OpenID Connect are the same.
        return (url.path.isEmpty ? paths.dropLast() : paths).map { ServiceURL(at: url, path: $0) }
    }

    var namesNoToken: AuthorityError {
        .misconfigured("the discovery document of \(issuer.identifier) has no token_endpoint")
    }

    func knownURL(_ name: EndpointName) -> ServiceURL? { service?.url(name, at: issuer) }

    /// Parses a discovery document whose endpoints this issuer may name.
    func document(in response: ServiceResponse) throws(AuthorityError) -> ServiceDocument {
        let document = try read(response)
        try checkServers(of: document)
        return document
    }

    /// Parses a discovery document. The document must contain the configured issuer, so that one service cannot
    /// redirect the users of another service to itself (RFC 8414, section 6.2). Endpoints may be on other hosts, unless
    /// only an API names the issuer. Their URLs must use TLS, or the loopback interface if the issuer is also there. An
    /// endpoint without such a URL counts as missing.
    func read(_ response: ServiceResponse) throws(AuthorityError) -> ServiceDocument {
        let object = try object(in: response)
        var document = ServiceDocument(
            namesIssuer: object["authorization_response_iss_parameter_supported"]?.flag == true,
            scopes: object["scopes_supported"]?.words, grants: object["grant_types_supported"]?.words,
            tokenAuthentication: object["token_endpoint_auth_methods_supported"]?.words,
            revocationAuthentication: object["revocation_endpoint_auth_methods_supported"]?.words,
            challengeMethods: object["code_challenge_methods_supported"]?.words,
            documentation: page("service_documentation", in: object),
            supportsClientMetadata: object["client_id_metadata_document_supported"]?.flag == true)
        document.requiresPushedRequests = object["require_pushed_authorization_requests"]?.flag == true
        for name in EndpointName.allCases {
            switch url(name, in: object) {
            case .success(let url)?: document.urls[name] = url
            case .failure(let flaw)?: document.flaws[name] = "\(name.rawValue) \(flaw.text)"
            case nil: break
            }
        }
        return document
    }

    /// Throws an error if a document names an endpoint that may belong to another service than the issuer.
    func checkServers(of document: ServiceDocument) throws(AuthorityError) {
        // With the issuer in the response, the code of another service is recognized before it is sent anywhere.
        guard !document.namesIssuer else { return }
        for name in EndpointName.allCases where name != .endSession {
            if let url = document.urls[name] { try checkServer(of: url, name) }
        }
    }

    /// The error after a search that found no document: what each address answered. If another server seems to answer in
    /// place of the service everywhere, the document may exist.
    func absence(_ absences: [(url: ServiceURL, answer: AuthorityError)]) -> AuthorityError {
        let answers = absences.map { "\($0.url.path): \($0.answer.answerText)" }.joined(separator: "; ")
        let isIntercepted = absences.allSatisfy { if case .intercepted = $0.answer { true } else { false } }
        let text = "\(issuer.identifier) has no discovery document"
        return isIntercepted
            ? .intercepted("\(text) (\(answers))") : .misconfigured("\(text): check the issuer (\(answers))")
    }

    /// Throws an error if an endpoint may belong to another service than the issuer, which would then receive the codes or
    /// tokens of that service (mix-up; RFC 9700, section 4.4). Only an issuer that the app or the user named, or an entry of
    /// a known service, may name other servers. The sign-out page is exempt: only the user opens it.
    func checkServer(of url: ServiceURL, _ name: EndpointName) throws(AuthorityError) {
        guard isLimitedToOwnServer else { return }
        guard url.origin != issuer.url.origin else { return }
        let known = service ?? KnownService.at(issuer)
        guard known?.hasEndpoints(on: url.origin) != true else { return }
        throw .misconfigured(
            "\(issuer.url.authority) names another server, \(url.authority), as its \(name.rawValue), which may belong to "
                + "another service: if you trust \(issuer.identifier), name it yourself (on a command line, with --issuer "
                + "\(issuer.identifier))")
    }

    private func object(in response: ServiceResponse) throws(AuthorityError) -> JSONObject {
        let parser = ResponseParser(.discovery)
        let document = try parser.metadata(in: response)
        guard let name = document["issuer"], name != .null else { throw .misconfigured("names no issuer") }
        guard let text = name.string, issuer.isNamed(by: text) else {
            throw .misconfigured("is for another issuer\(parser.text.shown(name.string).map { ", \($0)" } ?? "")")
        }
        return document
    }

    /// Returns a page that the user may open in a browser. AccountKit sends nothing there.
    private func page(_ name: String, in document: JSONObject) -> String? {
        guard let text = document[name]?.string, text.utf8.count <= 2048, text.lowercased().hasPrefix("https://")
        else { return nil }
        return text
    }

    private struct Flaw: Error {
        let text: String
    }

    /// Returns the URL of an endpoint, or its flaw; `nil` if the document does not name the endpoint.
    private func url(_ name: EndpointName, in document: JSONObject) -> Result<ServiceURL, Flaw>? {
        switch document[name.rawValue] {
        case nil, .null?, .string("")?: return nil
        case .string(let text)?:
            do throws(ServiceURL.Flaw) {
                let url = try ServiceURL(text)
                return flaw(of: url).map { .failure(Flaw(text: $0)) } ?? .success(url)
            } catch {
                return .failure(Flaw(text: error.text))
            }
        default: return .failure(Flaw(text: "is not a string"))
        }
    }

    /// Returns the reason why this issuer must not name an endpoint; `nil` if it may.
    private func flaw(of url: ServiceURL) -> String? {
        guard url.scheme == "https" || issuer.url.scheme == "http" else { return "is not encrypted" }
        if isFromAPI, !HostPlace(of: issuer.url.host).mayName(HostPlace(of: url.host)) {
            return "is in a private network where the issuer is not"
        }
        return nil
    }

    /// Returns the endpoint that is stored with an account; `nil` if it has expired, if its URL is not valid, or if the
    /// issuer must not name it. The caller then discovers the endpoint.
    func endpoint(_ stored: TokenEndpoint, at date: Date) -> Endpoint? {
        guard stored.isFresh(at: date), let url = try? ServiceURL(stored.url), flaw(of: url) == nil else { return nil }
        return Endpoint(
            url: url,
            document: ServiceDocument(
                urls: userInfo(stored, at: date).map { [.userInfo: $0] } ?? [:],
                tokenAuthentication: stored.authenticationMethods),
            freshUntil: stored.expiresAt)
    }

    /// Returns the user info endpoint that is stored with an account, under the same conditions.
    func userInfo(_ stored: TokenEndpoint, at date: Date) -> ServiceURL? {
        guard stored.isFresh(at: date), let url = stored.userInfo.flatMap({ try? ServiceURL($0) }),
            flaw(of: url) == nil
        else { return nil }
        return url
    }
}

extension AuthorityError {
    /// The response of a server instead of a document.
    var answerText: String {
        switch self {
        case .intercepted(let text), .unclear(let text), .misconfigured(let text): text
        default: "\(SessionDecision.reason(for: self))"
        }
    }
}
