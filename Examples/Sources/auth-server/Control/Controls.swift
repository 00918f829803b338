/// How the server has been told to misbehave.
struct Controls: Sendable {
    /// The replies whose members can be altered; also the claims of ID tokens.
    enum AlterableReply: String, CaseIterable {
        case token = "token-reply"
        case userInfo = "userinfo-reply"
        case idToken = "id-token"
        /// What is said at both well-known names.
        case discovery = "discovery-reply"
        /// What is said at the name of OpenID Connect only.
        case openIDConfiguration = "openid-configuration-reply"
        /// What is said at the name of RFC 8414 only.
        case serverMetadata = "authorization-server-metadata-reply"
    }

    var faults = FaultList()
    var alterations: [AlterableReply: ReplyAlteration] = [:]
}
