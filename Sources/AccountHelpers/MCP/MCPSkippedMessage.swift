import AccountSupport

/// Finds the id of a request that is too long to keep, so that its sender gets an error.
///
/// It keeps one member of the message at a time, and skips members that are too long for an id. The text need not be valid.
struct MCPSkippedMessage {
    private static let maximumMemberByteCount = 1024

    private var depth = 0
    private var isInString = false
    private var isEscaped = false
    private var member: [UInt8] = []
    private var id: MCPRequestID?
    private var hasMethod = false

    /// The id if the message is a request; `nil` for other messages, and before the end of the message.
    var requestID: MCPRequestID? { depth == 0 && hasMethod ? id : nil }

    mutating func read(_ bytes: some Sequence<UInt8>) {
        for byte in bytes { read(byte) }
    }

    private mutating func read(_ byte: UInt8) {
        if isInString {
            isInString = isEscaped || byte != UInt8(ascii: "\"")
            isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
        } else {
            switch byte {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                if depth == 1 { return }
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if depth == 0 { return endMember() }
            case UInt8(ascii: ",") where depth == 1: return endMember()
            default: break
            }
        }
        // One more byte than allowed shows that the member is too long.
        if member.count <= Self.maximumMemberByteCount { member.append(byte) }
    }

    private mutating func endMember() {
        defer { member = [] }
        guard member.count <= Self.maximumMemberByteCount,
            let object = JSONText(Array("{".utf8) + member + Array("}".utf8))
        else { return }
        // Of several members with one name, the last counts, as in other messages.
        if let value = object["id"] { id = MCPRequestID(value) }
        if let method = object["method"] { hasMethod = method.string != nil }
    }
}
