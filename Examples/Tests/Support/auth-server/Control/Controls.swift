/// How the server has been told to misbehave.
struct Controls: Sendable {
    /// The responses whose members can be altered; also the claims of ID tokens.
    enum AlterableResponse: String, CaseIterable {
        case token = "token-response"
        case userInfo = "userinfo-response"
        case idToken = "id-token"
        /// What is said at both well-known names.
        case discovery = "discovery-response"
        /// What is said at the name of OpenID Connect only.
        case openIDConfiguration = "openid-configuration-response"
        /// What is said at the name of RFC 8414 only.
        case serverMetadata = "authorization-server-metadata-response"
    }

    var faults = FaultList()
    var alterations: [AlterableResponse: ResponseAlteration] = [:]
}
