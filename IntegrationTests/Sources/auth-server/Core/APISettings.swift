/// The API of this server that names its authorization server.
///
/// Source: RFC 9728.
struct APISettings: Sendable {
    /// The path of the API.
    var path = "/mcp"
    /// The path of the resource that tokens are for, and of its metadata after the well-known name.
    var resourcePath = "/mcp"
    /// The response to a request with a valid token. If `nil`, the response contains the user's name.
    var response: JSONValue?
    /// The scopes of the API. A request needs all of them.
    var scopes: [String] = []
    /// The scopes that the challenge of a request without a token names; `nil` for no `scope` parameter.
    var challengedScopes: [String]?
    /// Where the metadata is.
    var place = Place.challenge
    /// The authentication class that a token must have; see `APIRoutes`.
    var authenticationClass: String?

    /// The API of the quick start, whose resource is the server itself.
    static let notes = APISettings(
        path: "/notes", resourcePath: "", response: [["title": "Buy milk"], ["title": "Call Bob"]])

    enum Place: String, CaseIterable, Sendable {
        /// At the well-known address with the path, which the challenge names.
        case challenge
        /// The same, but the challenge does not name it.
        case path
        /// At the well-known address without the path.
        case root
        /// Nowhere.
        case none
    }
}

/// How clients can register themselves.
struct RegistrationSettings: Sendable {
    /// Whether a client gets a secret, even if it requests none.
    var issuesSecrets = false
    /// Whether a client can remove its registration.
    var isManaged = true
}

extension ServerSettings {
    /// All scope names that a client can request.
    var knownScope: Scope { Scope(names: personality.scope.names + (api?.scopes ?? [])) }

    /// Whether a client is known. A client ID metadata document counts as valid without being read.
    func knows(client id: String?) -> Bool {
        guard let id else { return false }
        return id == clientID || clients[id] != nil || isClientMetadata(id)
    }

    func isClientMetadata(_ id: String) -> Bool { acceptsClientMetadata && id.hasPrefix("https://") }
}
