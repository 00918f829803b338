/// How the server has been told to misbehave.
struct Controls: Sendable {
    /// The replies whose members can be altered.
    enum AlterableReply: String, CaseIterable {
        case token = "token-reply"
        case userInfo = "userinfo-reply"
        case discovery = "discovery-reply"
    }

    var faults = FaultList()
    var alterations: [AlterableReply: ReplyAlteration] = [:]
}
