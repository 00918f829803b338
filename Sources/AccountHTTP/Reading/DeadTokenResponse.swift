extension ServiceQuirks.DeadTokenResponse {
    /// Whether a response is this one, whole and without doubt.
    func matches(_ response: ServiceResponse) -> Bool {
        guard response.status == status, response.isBodyWhole, response.mediaType == "application/json",
            !response.isCompressed,
            let object = ResponseObject(response.body, secrets: []), !object.isAmbiguous
        else { return false }
        return object.members[member] == .string(value)
    }
}
