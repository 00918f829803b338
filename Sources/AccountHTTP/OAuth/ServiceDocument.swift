import AccountKit
import AccountSupport

/// The name of an endpoint in a discovery document (RFC 8414, section 2; OpenID Connect Discovery 1.0, section 3; RFC
/// 8628, section 4).
enum EndpointName: String, Sendable, CaseIterable {
    case token = "token_endpoint"
    case userInfo = "userinfo_endpoint"
    case revocation = "revocation_endpoint"
    case deviceAuthorization = "device_authorization_endpoint"
    case authorization = "authorization_endpoint"

    /// RFC 9126, section 5.
    case pushedAuthorization = "pushed_authorization_request_endpoint"

    /// The endpoint that describes a token (RFC 7662, section 2).
    case introspection = "introspection_endpoint"

    /// The page where the user signs out (OpenID Connect RP-Initiated Logout 1.0, section 2.1).
    case endSession = "end_session_endpoint"

    /// RFC 7591, section 3.
    case registration = "registration_endpoint"
}

struct ServiceDocument: Sendable, Equatable {
    /// The usable endpoints.
    var urls: [EndpointName: ServiceURL] = [:]

    /// Why the document's other endpoints are not usable.
    var flaws: [EndpointName: String] = [:]

    /// Whether authorization responses contain the issuer (RFC 9207, section 3).
    var namesIssuer = false

    /// Whether the service accepts only authorization requests that were pushed (RFC 9126, section 5).
    var requiresPushedRequests = false

    // Each of these lists is `nil` if the document does not contain it.
    var scopes: [String]?
    var grants: [String]?
    var tokenAuthentication: [String]?
    var revocationAuthentication: [String]?
    var challengeMethods: [String]?

    /// The `https` page with information for developers; `nil` if the document does not contain one.
    var documentation: String?

    /// Whether a client ID may be the URL of a document (draft-ietf-oauth-client-id-metadata-document, section 5).
    var supportsClientMetadata = false
}
