/// The resources and the audience that a client requests tokens for.
struct Target: Codable, Equatable, Sendable {
    /// The identifiers of the resources (RFC 8707), in the order of the request.
    var resources: [String] = []
    /// The name of an API, as requested at services that predate RFC 8707.
    var audience: String?
    /// The first of the `acr_values` that the client requested.
    var authenticationClass: String?
}

extension Target {
    /// Reads the target from the parameters of a request.
    ///
    /// - Throws: `OAuthError` if an identifier is invalid or unknown to the server.
    init(_ parameters: [String: String], settings: ServerSettings) throws {
        resources = parameters["resource"]?.split(separator: " ").map(String.init) ?? []
        audience = parameters["audience"]
        authenticationClass = parameters["acr_values"]?.split(separator: " ").first.map(String.init)
        // Source: RFC 8707, section 2: an absolute URI without a fragment.
        guard resources.allSatisfy({ $0.contains(/^[A-Za-z][A-Za-z0-9+.-]*:[^#]+$/) }) else {
            throw OAuthError(.invalidTarget, "resource is not an absolute URI without a fragment")
        }
        try checkResources(settings: settings)
    }

    private func checkResources(settings: ServerSettings) throws {
        guard !settings.resources.isEmpty else { return }
        guard !resources.isEmpty, resources.allSatisfy(settings.resources.contains) else {
            throw OAuthError(.invalidTarget, "resource is missing or not known")
        }
    }

    /// Checks that a sign-in specifies the audience that the server requires.
    func requireAudience(settings: ServerSettings) throws {
        guard settings.audience == nil || settings.audience == audience else {
            throw OAuthError(.invalidRequest, "audience is missing or not known")
        }
    }

    /// Checks that these resources are among the granted ones.
    func requireResources(among granted: Target) throws {
        guard resources.allSatisfy(granted.resources.contains) else {
            throw OAuthError(.invalidTarget, "resource exceeds what was granted")
        }
    }
}
