import AccountKit
import AccountSupport

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The locations of an issuer's discovery documents, and the rules for their content (OpenID Connect Discovery 1.0,
/// sections 3 and 4; RFC 8414, sections 2 and 3).
struct Discovery: Sendable {
    let issuer: Issuer
    var service: KnownService?

    /// Whether an API named the issuer. AccountKit then relies only on what the documents of the API and the issuer say.
    var isFromAPI = false

    /// Whether the endpoints must be on the server of the issuer, because the app and the user did not name the issuer.
    var isLimitedToOwnServer = false

    /// The URLs of the documents. The OpenID Connect document comes first, because nearly every service with a
    /// discovery document has it.
    var urls: [ServiceURL] {
        let url = issuer.url
        if isFromAPI {
            // RFC 8414, sections 3.1 and 5.
            let paths = [
                "/.well-known/oauth-authorization-server" + url.path, "/.well-known/openid-configuration" + url.path,
                url.path + "/.well-known/openid-configuration",
            ]
            return (url.path.isEmpty ? paths.dropLast() : paths).map { ServiceURL(at: url, path: $0) }
        }
        return [
            // OpenID Connect Discovery, section 4.1: the well-known path follows the path of the issuer.
            ServiceURL(at: url, path: url.path + "/.well-known/openid-configuration"),
            // RFC 8414, section 3.1: the well-known path is between the host and the path of the issuer.
            ServiceURL(at: url, path: "/.well-known/oauth-authorization-server" + url.path),
        ]
    }

    var namesNoToken: AuthorityError {
        .misconfigured("the discovery document of \(issuer.identifier) has no token_endpoint")
    }

    func knownURL(_ name: EndpointName) -> ServiceURL? { service?.url(name, at: issuer) }

    /// Parses a discovery document. The document must contain the configured issuer, so that one service cannot
    /// redirect the users of another service to itself (RFC 8414, section 6.2). Endpoints may be on other hosts, unless
    /// only an API names the issuer. Their URLs must use TLS, or the loopback interface if the issuer is also there.
    func document(in response: ServiceResponse) throws(AuthorityError) -> ServiceDocument {
        let object = try object(in: response)
        var document = ServiceDocument(
            namesIssuer: object["authorization_response_iss_parameter_supported"]?.flag == true,
            scopes: object["scopes_supported"]?.words, grants: object["grant_types_supported"]?.words,
            tokenAuthentication: object["token_endpoint_auth_methods_supported"]?.words,
            revocationAuthentication: object["revocation_endpoint_auth_methods_supported"]?.words,
            challengeMethods: object["code_challenge_methods_supported"]?.words,
            documentation: page("service_documentation", in: object),
            supportsClientMetadata: object["client_id_metadata_document_supported"]?.flag == true)
        for name in EndpointName.allCases {
            do throws(AuthorityError) {
                document.urls[name] = try url(name.rawValue, in: object)
            } catch {
                // Ignore an invalid URL of the sign-out page, because only the user opens it. Also ignore an invalid URL of
                // the registration, because the app may already have a client ID.
                if name != .endSession, name != .registration { throw error }
            }
        }
        // With the issuer in the response, the code of another service is recognized before it is sent anywhere.
        if !document.namesIssuer {
            for name in EndpointName.allCases where name != .endSession {
                if let url = document.urls[name] { try checkServer(of: url, name) }
            }
        }
        return document
    }

    /// Throws an error if an endpoint may belong to another service than the issuer, which would then receive the codes or
    /// tokens of that service (mix-up; RFC 9700, section 4.4). Only an issuer that the app or the user named, or an entry of
    /// a known service, may name other servers. The sign-out page is exempt: only the user opens it.
    func checkServer(of url: ServiceURL, _ name: EndpointName) throws(AuthorityError) {
        guard isLimitedToOwnServer else { return }
        let origin = ServiceURL(at: url, path: "")
        guard origin != ServiceURL(at: issuer.url, path: "") else { return }
        let known = service ?? KnownService.at(issuer)
        guard known?.origins.contains(origin.description) != true else { return }
        throw .misconfigured(
            "\(issuer.url.authority) names another server, \(url.authority), as its \(name.rawValue), which may belong to "
                + "another service: if you trust \(issuer.identifier), name it yourself (on a command line, with --issuer "
                + "\(issuer.identifier))")
    }

    /// Parses a document from another location than the first. Returns `nil` for a web page, a redirect, a 404
    /// response, or a document of another issuer, because single-page apps respond to every path with the same page.
    /// Throws after a temporary failure, because it is unknown whether a document exists.
    func furtherDocument(in response: ServiceResponse) throws(AuthorityError) -> ServiceDocument? {
        do throws(AuthorityError) {
            return try document(in: response)
        } catch {
            switch error {
            case .intercepted where response.status == 511: throw error
            case .intercepted, .unclear, .misconfigured: return nil
            default: throw error
            }
        }
    }

    private func object(in response: ServiceResponse) throws(AuthorityError) -> JSONObject {
        let reading = ResponseParser(.discovery)
        let document = try reading.object(in: response)
        guard let documentIssuer = try string("issuer", in: document) else {
            throw .misconfigured("the discovery document of \(issuer.identifier) has no issuer")
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

    /// Returns a page that the user may open in a browser. AccountKit sends nothing there.
    private func page(_ name: String, in document: JSONObject) -> String? {
        guard let text = document[name]?.string, text.utf8.count <= 2048, text.lowercased().hasPrefix("https://")
        else { return nil }
        return text
    }

    private func string(_ name: String, in document: JSONObject) throws(AuthorityError) -> String? {
        switch document[name] {
        case nil, .null?: return nil
        case .string(let value)?: return value
        default: throw .unclear("in the discovery document of \(issuer.identifier), \(name) is not a string")
        }
    }

    private func url(_ name: String, in document: JSONObject) throws(AuthorityError) -> ServiceURL? {
        guard let text = try string(name, in: document) else { return nil }
        let url: ServiceURL
        do {
            url = try ServiceURL(text)
        } catch {
            throw .misconfigured("in the discovery document of \(issuer.identifier), \(name) \(error.text)")
        }
        if let flaw = flaw(of: url) {
            throw .misconfigured("in the discovery document of \(issuer.identifier), \(name) \(flaw)")
        }
        return url
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
