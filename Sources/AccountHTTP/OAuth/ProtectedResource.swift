import AccountKit
import AccountSupport
import HTTPTypes

/// The sign-in of an API, according to its metadata (RFC 9728).
struct ProtectedResource: Sendable, Equatable {
    /// The `resource` of the metadata, as the API spells it; `nil` if the URL is treated as an issuer.
    var identifier: String?

    /// The issuers, as the API spells them; at least one.
    var authorizationServers: [String]

    /// The scopes in the challenge of the API, or else in its metadata; `nil` if neither names any.
    var scopes: [String]?

    /// More scopes are a mistake or an attack: the user could not read them on the page of the service.
    static let maximumScopeCount = 50

    static let maximumServerCount = 20

    /// Whether a `resource` is the URL or a parent of it on the same origin (RFC 9728, section 3.3), by whole segments.
    static func covers(_ resource: ServiceURL, _ url: ServiceURL) -> Bool {
        guard ServiceURL(at: resource, path: "") == ServiceURL(at: url, path: "") else { return false }
        let (outer, inner) = (segments(resource.path), segments(url.path))
        guard inner.starts(with: outer) else { return false }
        guard outer.isEmpty || inner.dropFirst(outer.count).allSatisfy(\.isPlainPathSegment) else { return false }
        return resource.query == nil || resource.query == url.query && inner.count == outer.count
    }

    static func covers(_ resource: String, _ url: ServiceURL) -> Bool {
        guard let resource = try? ServiceURL(resource) else { return false }
        return covers(resource, url)
    }

    private static func segments(_ path: String) -> [Substring] {
        let path = path.hasSuffix("/") ? path.dropLast() : path[...]
        return path.isEmpty ? [] : path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    }
}

/// Asks an API for its metadata. Nothing of the user is sent.
struct ResourceDiscovery: Sendable {
    let url: ServiceURL

    let send: @Sendable (ServiceRequest) async throws(AuthorityError) -> ServiceResponse

    private var place: HostPlace { HostPlace(of: url.host) }

    /// The addresses of the metadata without a challenge (RFC 9728, section 3.1).
    var wellKnownURLs: [ServiceURL] {
        let root = ServiceURL(at: url, path: "/.well-known/oauth-protected-resource")
        let path = url.path.hasSuffix("/") ? String(url.path.dropLast()) : url.path
        return path.isEmpty ? [root] : [ServiceURL(at: url, path: root.path + path), root]
    }

    func resource() async throws(AuthorityError) -> ProtectedResource {
        let challenge = try await challenge()
        if let text = challenge?.parameters["resource_metadata"] {
            let address = try checked(text, "the address of its metadata")
            let response = try await send(request(for: address))
            return try resource(in: response, challenge: challenge)
        }
        for address in wellKnownURLs {
            let response = try await send(request(for: address))
            if response.isAbsence { continue }
            return try resource(in: response, challenge: challenge)
        }
        return ProtectedResource(
            identifier: nil, authorizationServers: ["\(url)"], scopes: scopes(of: challenge))
    }

    /// Requests the URL without a token. Only a 401 has a meaning here: any other response leads to the well-known
    /// addresses.
    private func challenge() async throws(AuthorityError) -> AuthenticationChallenge? {
        let response: ServiceResponse
        do throws(AuthorityError) {
            response = try await send(request(for: url))
        } catch {
            // The API may stream its response without end.
            if case .noResponse(let failure) = error, failure.kind == .timeout, failure.stage == .sent { return nil }
            throw error
        }
        guard response.status == 401 else { return nil }
        let challenges = AuthenticationChallenge.challenges(in: response.head.headerFields[values: .wwwAuthenticate])
            .filter { $0.scheme == "bearer" || $0.scheme == "dpop" }
        return challenges.first { $0.parameters["resource_metadata"] != nil } ?? challenges.first
    }

    private func request(for url: ServiceURL) -> ServiceRequest {
        var request = ServiceRequest(url: url)
        request.bodyLimit = 256 << 10
        return request
    }

    private func resource(
        in response: ServiceResponse, challenge: AuthenticationChallenge?
    ) throws(AuthorityError) -> ProtectedResource {
        let parser = ResponseParser(.resourceMetadata)
        let object = try parser.object(in: response)
        guard let identifier = object["resource"]?.string else {
            throw .misconfigured("the metadata of \(url) names no resource")
        }
        guard RequestRules.isResource(identifier), ProtectedResource.covers(identifier, url) else {
            throw .misconfigured(
                "the metadata of \(url) is for another resource"
                    + (parser.text.shown(identifier).map { ", \($0)" } ?? ""))
        }
        if let methods = object["bearer_methods_supported"]?.words, !methods.isEmpty, !methods.contains("header") {
            throw .misconfigured(
                "\(url) does not accept tokens in a header field, and AccountKit sends them nowhere else")
        }
        return ProtectedResource(
            identifier: identifier, authorizationServers: try authorizationServers(in: object, parser),
            scopes: scopes(of: challenge) ?? scopes(in: object))
    }

    private func authorizationServers(
        in object: JSONObject, _ parser: ResponseParser
    ) throws(AuthorityError) -> [String] {
        let values: [JSONValue]
        switch object["authorization_servers"] {
        case .array(let servers)?: values = servers
        case let server?: values = server.string.map { [.string($0)] } ?? []
        case nil: values = []
        }
        guard !values.isEmpty else {
            throw .misconfigured("the metadata of \(url) names no authorization server")
        }
        guard values.count <= ProtectedResource.maximumServerCount else {
            throw .misconfigured("the metadata of \(url) names \(values.count) authorization servers")
        }
        var servers: [String] = []
        for value in values {
            guard let text = value.string else {
                throw .misconfigured("the metadata of \(url) names an authorization server that is not a URL")
            }
            _ = try checked(text, "an authorization server that")
            if !servers.contains(text) { servers.append(text) }
        }
        return servers
    }

    /// The rules of issuers. Metadata must not direct this machine to a network in which the API is not (server-side
    /// request forgery). A public name may resolve to a private address, but a server there has no certificate for it.
    private func checked(_ text: String, _ what: String) throws(AuthorityError) -> ServiceURL {
        let start = "the metadata of \(url) names \(what)\(ServiceURL.shown(text))"
        let named: ServiceURL
        do throws(ServiceURL.Flaw) {
            named = try ServiceURL(text)
        } catch {
            throw .misconfigured("\(start), which \(error.text)")
        }
        guard named.scheme == "https" || url.scheme == "http" else {
            throw .misconfigured("\(start), which is not encrypted")
        }
        guard place.mayName(HostPlace(of: named.host)) else {
            throw .misconfigured("\(start), which is in a private network where \(url.host) is not")
        }
        return named
    }

    private func scopes(of challenge: AuthenticationChallenge?) -> [String]? {
        guard let text = challenge?.parameters["scope"] else { return nil }
        return limited(Scope.scopes(in: text))
    }

    private func scopes(in object: JSONObject) -> [String]? {
        object["scopes_supported"]?.words.flatMap { limited($0.filter { Scope.isValid($0) }) }
    }

    private func limited(_ scopes: [String]) -> [String]? {
        var unique: [String] = []
        // One more than allowed shows the caller that there are too many.
        for scope in scopes where !unique.contains(scope) && unique.count <= ProtectedResource.maximumScopeCount {
            unique.append(scope)
        }
        return unique.isEmpty ? nil : unique
    }
}

extension ServiceResponse {
    /// Whether there is no document at an address. Some servers respond with another status than 404 to an address
    /// that they do not know.
    var isAbsence: Bool { (400..<500).contains(status) && ![407, 408, 425, 429].contains(status) }
}
