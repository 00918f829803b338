import AccountKit
import AccountSupport
import HTTPTypes

/// The sign-in of an API, according to its metadata (RFC 9728).
struct ProtectedResource: Sendable, Equatable {
    /// The `resource` of the metadata, as the API spells it; `nil` if the URL is treated as an issuer.
    var identifier: String?

    /// The issuers, as the API spells them. If the API names none, the URL that may be one; see ``namesServers``.
    var authorizationServers: [String]

    /// Whether the metadata names the issuers.
    var namesServers = true

    /// The scopes in the challenge of the API, or else in its metadata; `nil` if neither names any.
    var scopes: [String]?

    /// What the addresses answered at which there could have been metadata. Empty if there is metadata.
    var answers: [String] = []

    /// The temporary failure of an address at which there may be metadata; `nil` if there is metadata, or surely none.
    var failure: AuthorityError?

    /// More scopes are a mistake or an attack: the user could not read them on the page of the service.
    static let maximumScopeCount = 50

    static let maximumServerCount = 20

    /// Whether a `resource` is the URL or a parent of it on the same origin (RFC 9728, section 3.3), by whole segments.
    static func covers(_ resource: ServiceURL, _ url: ServiceURL) -> Bool {
        guard resource.origin == url.origin else { return false }
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
///
/// The metadata may be at the address in the challenge of the API, or at the two well-known addresses; see
/// ``DocumentSearch``. If a `GET` request has no challenge and these addresses no metadata, the challenge may be in the
/// response to a `POST` request: MCP servers respond to `GET` with 405, or with a challenge of their gateway. The request
/// is the first one of the protocol, `initialize`, without a token: it has no effect there but a new session, and other
/// APIs refuse it.
///
/// If there is no metadata anywhere, or metadata without authorization servers, the URL may be that of the service.
/// Metadata that could mislead the user ends the sign-in instead, and so does a challenge that names an address in a
/// private network.
struct ResourceDiscovery: Sendable {
    let url: ServiceURL

    let send: @Sendable (ServiceRequest) async throws(AuthorityError) -> ServiceResponse

    private var place: HostPlace { HostPlace(of: url.host) }

    private static let bodyLimit = 256 << 10

    /// The addresses of the metadata without a challenge: those of RFC 9728, section 3.1, and of the URL without its query
    /// and without the slash at its end, which users add or omit.
    var wellKnownURLs: [ServiceURL] {
        let root = ServiceURL(at: url, path: "/.well-known/oauth-protected-resource")
        let path = url.path == "/" ? "" : url.path
        let paths = [
            path + (url.query.map { "?\($0)" } ?? ""), path, path.hasSuffix("/") ? String(path.dropLast()) : path,
        ]
        var urls: [ServiceURL] = []
        for path in paths + [""] {
            guard let url = try? ServiceURL("\(root)\(path)"), !urls.contains(url) else { continue }
            urls.append(url)
        }
        return urls
    }

    func resource() async throws(AuthorityError) -> ProtectedResource {
        var search = DocumentSearch(send: send)
        search.bodyLimit = Self.bodyLimit
        // Another address may have metadata with the authorization servers, which are optional (RFC 9728, section 2).
        var withoutServers: ProtectedResource?
        func readWithServers(_ response: ServiceResponse) throws(AuthorityError) -> ProtectedResource {
            let resource = try read(response)
            guard resource.authorizationServers.isEmpty else { return resource }
            withoutServers = withoutServers ?? resource
            throw .unclear("names no authorization server")
        }
        var challenge = try await challenge(to: ServiceRequest(url: url))
        var named = try metadataURL(in: challenge)
        var found = try await search.document(at: [named].compactMap(\.self) + wellKnownURLs, readWithServers)
        // Without an answer, the server is not reachable now.
        if found == nil, named == nil, search.hasAnswer {
            let second = try await self.challenge(to: initialization)
            named = try metadataURL(in: second)
            if challenge == nil || second?.parameters["scope"] != nil { challenge = second }
            if let named { found = try await search.document(at: [named], readWithServers) }
        }
        if found == nil { found = try await search.documentAtSecondTry(readWithServers) }
        if var resource = found?.document ?? withoutServers {
            if resource.authorizationServers.isEmpty {
                (resource.authorizationServers, resource.namesServers) = (["\(url)"], false)
            }
            resource.scopes = scopes(of: challenge) ?? resource.scopes
            return resource
        }
        let failure = search.failures.first?.failure
        // An address that the API names has metadata. At the others, some servers respond 500 instead of 404.
        if let failure, named != nil || !search.failures.allSatisfy(\.failure.isFromServer) { throw failure }
        if let refusal = search.absences.first(where: { if case .misconfigured = $0.answer { true } else { false } }) {
            let others = search.absences.filter { $0.url != refusal.url }.map { "\($0.url): \($0.answer.answerText)" }
            let end = others.isEmpty ? "" : " (\(others.joined(separator: "; ")))"
            throw failure ?? .misconfigured(refusal.answer.answerText + end)
        }
        return ProtectedResource(
            identifier: nil, authorizationServers: ["\(url)"], namesServers: false, scopes: scopes(of: challenge),
            answers: search.answers, failure: failure)
    }

    /// The first request of the Model Context Protocol.
    private var initialization: ServiceRequest {
        var request = ServiceRequest(url: url)
        request.method = .post
        request.headerFields[.contentType] = "application/json"
        request.headerFields[.accept] = "application/json, text/event-stream"
        let client = #"{"name":"AccountKit","version":"\#(accountKitVersion)"}"#
        let parameters = #"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":\#(client)}"#
        request.body = Data(#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":\#(parameters)}"#.utf8)
        return request
    }

    /// Sends a request without a token. Only a 401 has a meaning here: after any other response or a failure, the metadata
    /// may still be at a well-known address.
    private func challenge(to request: ServiceRequest) async throws(AuthorityError) -> AuthenticationChallenge? {
        var request = request
        // The API may stream its response without end.
        request.bodyLimit = 0
        let response: ServiceResponse
        do throws(AuthorityError) {
            response = try await send(request)
        } catch {
            guard error.isAboutAddress else { throw error }
            return nil
        }
        guard response.status == 401 else { return nil }
        let fields = response.head.headerFields[values: .wwwAuthenticate]
        let challenges = AuthenticationChallenge.challenges(in: fields)
            .filter { $0.scheme == "bearer" || $0.scheme == "dpop" }
        let known = challenges.first { $0.parameters["resource_metadata"] != nil }
        return known ?? AuthenticationChallenge.malformed(in: fields, with: ["resource_metadata", "scope"])
            ?? challenges.first
    }

    /// Returns the address of the metadata in a challenge; `nil` if the challenge names none that can be used. A path is
    /// one on the server of the API (RFC 3986, section 4.2).
    private func metadataURL(in challenge: AuthenticationChallenge?) throws(AuthorityError) -> ServiceURL? {
        guard let text = challenge?.parameters["resource_metadata"] else { return nil }
        let isPath = text.hasPrefix("/") && !text.hasPrefix("//")
        let whole = isPath ? "\(url.origin)\(text)" : text
        guard let named = try? ServiceURL(whole) else { return nil }
        if let flaw = networkFlaw(of: named) {
            throw .misconfigured("\(url) names the address of its metadata\(ServiceURL.shown(text)), which \(flaw)")
        }
        return named.scheme == "https" || url.scheme == "http" ? named : nil
    }

    /// Reads metadata, without the scopes of the challenge.
    ///
    /// - Throws: `misconfigured` if the metadata could mislead the user; otherwise another error if the response is no
    ///   metadata.
    private func read(_ response: ServiceResponse) throws(AuthorityError) -> ProtectedResource {
        let parser = ResponseParser(.resourceMetadata)
        let object = try parser.metadata(in: response)
        guard object["resource"] != nil || object["authorization_servers"] != nil else {
            throw .unclear("not metadata of an API")
        }
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
            identifier: identifier, authorizationServers: try authorizationServers(in: object),
            scopes: scopes(in: object))
    }

    /// Returns the authorization servers that can be used. The others do not matter, if there is one.
    private func authorizationServers(in object: JSONObject) throws(AuthorityError) -> [String] {
        let values: [JSONValue]
        switch object["authorization_servers"] {
        case .array(let servers)?: values = servers
        case nil, .null?, .string("")?: values = []
        case let server?: values = [server]
        }
        guard values.count <= ProtectedResource.maximumServerCount else {
            throw .misconfigured("the metadata of \(url) names \(values.count) authorization servers")
        }
        var servers: [String] = []
        var flaws: [String] = []
        for value in values {
            guard let text = value.string else {
                flaws.append("an authorization server that is not a URL")
                continue
            }
            if let flaw = flaw(ofServer: text) {
                flaws.append("an authorization server\(ServiceURL.shown(text)), which \(flaw)")
            } else if !servers.contains(where: { Issuer.isSame($0, text) }) {
                servers.append(text)
            }
        }
        guard let flaw = flaws.first, servers.isEmpty else { return servers }
        throw .misconfigured("the metadata of \(url) names \(flaw)")
    }

    /// Returns the reason why metadata must not name an issuer; `nil` if it may.
    private func flaw(ofServer text: String) -> String? {
        let named: ServiceURL
        do throws(ServiceURL.Flaw) {
            named = try ServiceURL(text)
        } catch {
            return error.text
        }
        guard named.scheme == "https" || url.scheme == "http" else { return "is not encrypted" }
        // RFC 8414, section 2.
        guard named.query == nil else { return "contains a query" }
        return networkFlaw(of: named)
    }

    /// Metadata must not direct this machine to a network in which the API is not (server-side request forgery). A public
    /// name may resolve to a private address; the connection is checked too.
    private func networkFlaw(of named: ServiceURL) -> String? {
        place.mayName(HostPlace(of: named.host)) ? nil : "is in a private network where \(url.host) is not"
    }

    private func scopes(of challenge: AuthenticationChallenge?) -> [String]? {
        guard let text = challenge?.parameters["scope"] else { return nil }
        return limited(Scope.scopes(in: text))
    }

    private func scopes(in object: JSONObject) -> [String]? {
        object["scopes_supported"]?.words.flatMap { limited($0.filter { RequestRules.isScope($0) }) }
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
