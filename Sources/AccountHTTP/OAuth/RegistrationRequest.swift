/// The registration that a sign-in needs.
struct NeededRegistration: Sendable {
    let endpoint: Endpoint
    let redirectURI: String
    var scopes: [String]
    let grant: String

    /// The value of the member `scope`; `nil` if there are no scopes.
    var scope: String? { scopes.isEmpty ? nil : scopes.joined(separator: " ") }
}

/// The metadata of a native app (RFC 7591, section 2; OpenID Connect Dynamic Client Registration, section 2).
struct RegistrationRequest: Encodable {
    /// Only in an update.
    var clientID: String?
    var redirectURIs: [String]
    var tokenEndpointAuthMethod: String
    var grantTypes: [String]
    var responseTypes = ["code"]
    var applicationType = "native"
    var clientName: String
    var scope: String?

    enum CodingKeys: String, CodingKey {
        case clientID = "client_id"
        case redirectURIs = "redirect_uris"
        case tokenEndpointAuthMethod = "token_endpoint_auth_method"
        case grantTypes = "grant_types"
        case responseTypes = "response_types"
        case applicationType = "application_type"
        case clientName = "client_name"
        case scope
    }
}
