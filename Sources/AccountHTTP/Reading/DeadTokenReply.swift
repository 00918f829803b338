extension ServiceDialect.DeadTokenReply {
    /// Whether a reply is this one, whole and without doubt.
    func matches(_ reply: HTTPReply) -> Bool {
        guard reply.status == status, reply.isBodyWhole, reply.mediaType == "application/json", !reply.isCompressed,
            let object = ReplyObject(reply.body, secrets: []), !object.isAmbiguous
        else { return false }
        return object.members[member] == .string(value)
    }
}
