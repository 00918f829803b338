/// How the server has been told to misbehave.
struct Controls: Sendable {
    /// The replies whose members can be altered; also the claims of ID tokens.
    enum AlterableReply: String, CaseIterable {
        case token = "token-reply"
        case userInfo = "userinfo-reply"
        case idToken = "id-token"
        case discovery = "discovery-reply"
    }

    var faults = FaultList()
    var alterations: [AlterableReply: ReplyAlteration] = [:]
}
