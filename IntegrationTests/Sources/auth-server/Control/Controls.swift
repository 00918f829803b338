/// The faults and alterations that are active.
struct Controls: Sendable {
    /// The responses whose members can be altered, and the claims of ID tokens.
    enum AlterableResponse: String, CaseIterable {
        case token = "token-response"
        case userInfo = "userinfo-response"
        case idToken = "id-token"
        /// The document at both well-known names.
        case discovery = "discovery-response"
        /// The document at the name of OpenID Connect only.
        case openIDConfiguration = "openid-configuration-response"
        /// The document at the name of RFC 8414 only.
        case serverMetadata = "authorization-server-metadata-response"
        /// The metadata of the API.
        case resourceMetadata = "resource-metadata-response"
        case registration = "registration-response"
        /// The member `iss` of the redirect to the client.
        case authorization = "authorization-response"
    }

    var faults = FaultList()
    var alterations: [AlterableResponse: ResponseAlteration] = [:]
}
