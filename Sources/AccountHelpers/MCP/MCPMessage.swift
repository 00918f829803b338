import AccountSupport

/// A message of an MCP client or server (JSON-RPC 2.0).
///
/// Source: Model Context Protocol 2026-07-28 and 2025-06-18, "Base Protocol", section "Messages".
struct MCPMessage: Sendable {
    enum Kind: Sendable, Equatable {
        case request(id: MCPRequestID, method: String)
        case notification(method: String)
        case response(id: MCPRequestID?)
    }

    let kind: Kind
    let text: JSONText
    private(set) var params: JSONText?
    private(set) var result: JSONText?
    private(set) var error: JSONText?

    /// Why a text is not a message, with the error code of JSON-RPC 2.0, section 5.1.
    enum Flaw: Int, Error {
        case notJSON = -32700
        case notMessage = -32600
    }

    init(_ bytes: [UInt8]) throws(Flaw) {
        guard let text = JSONText(bytes) else { throw .notJSON }
        try self.init(text)
    }

    init(_ text: JSONText) throws(Flaw) {
        guard text.isObject else { throw .notMessage }
        self.text = text
        var id: JSONText?
        var method: JSONText?
        // Of several members with one name, the last counts, as in most parsers.
        for member in JSONText.Members(of: text) {
            switch member.name.string {
            case "id": id = member.value
            case "method": method = member.value
            case "params": params = member.value
            case "result": result = member.value
            case "error": error = member.value
            default: break
            }
        }
        let requestID = id.flatMap { MCPRequestID($0) }
        if let method {
            guard let method = method.string else { throw .notMessage }
            if let requestID {
                kind = .request(id: requestID, method: method)
            } else {
                guard id == nil else { throw .notMessage }
                kind = .notification(method: method)
            }
        } else {
            guard result != nil || error != nil else { throw .notMessage }
            kind = .response(id: requestID)
        }
    }

    /// The messages in a text: one, or the elements of an array, which a server of revision 2025-03-26 may send (JSON-RPC
    /// 2.0, section 6). Values that are no messages are left out. The messages are read one at a time, because a long text
    /// has more of them than memory should keep.
    struct Batch: Sequence, IteratorProtocol {
        private var message: MCPMessage?
        private var elements: JSONText.Elements?

        init(_ bytes: [UInt8]) {
            guard let text = JSONText(bytes) else { return }
            if text.isArray { elements = JSONText.Elements(of: text) } else { message = try? MCPMessage(text) }
        }

        mutating func next() -> MCPMessage? {
            if let message = message.take() { return message }
            while let element = elements?.next() {
                if let message = try? MCPMessage(element) { return message }
            }
            return nil
        }
    }

    /// Whether this message answers a request. The id may have another JSON type; see ``MCPRequestID/matches(_:)``.
    func answers(_ request: MCPMessage) -> Bool {
        guard case .response(let id?) = kind, let requestID = request.requestID else { return false }
        return id.matches(requestID)
    }

    /// The message with the id that the client has sent.
    func answering(_ request: MCPMessage) -> MCPMessage {
        guard case .response(let id?) = kind, let requestID = request.requestID, id != requestID else { return self }
        return (try? MCPMessage(text.setting("id", to: requestID.text))) ?? self
    }

    /// This response with the id of a request; `nil` if it is no response.
    func withID(of request: MCPMessage) -> MCPMessage? {
        guard let id = request.requestID, let value = error.map({ ("error", $0) }) ?? result.map({ ("result", $0) })
        else {
            return nil
        }
        return try? MCPMessage(
            JSONText(members: [("jsonrpc", JSONText(string: "2.0")), ("id", id.text), value]))
    }

    var method: String? {
        switch kind {
        case .request(_, let method), .notification(let method): method
        case .response: nil
        }
    }

    /// The id of a request that expects a response.
    var requestID: MCPRequestID? { if case .request(let id, _) = kind { id } else { nil } }

    /// The request that a `notifications/cancelled` ends.
    var cancelledID: MCPRequestID? {
        guard kind == .notification(method: "notifications/cancelled") else { return nil }
        return params?["requestId"].flatMap { MCPRequestID($0) }
    }

    /// The message on one line. JSON allows line breaks only between its parts, where a space means the same.
    var line: [UInt8] { text.line }
}

extension JSONText {
    /// The text on one line, with its newline.
    var line: [UInt8] {
        var line = [UInt8](bytes)
        for index in line.indices where line[index] == 0x0A || line[index] == 0x0D { line[index] = 0x20 }
        line.append(0x0A)
        return line
    }
}

/// The id of a request: a string or a number. "1" and 1 differ, but a server may confuse them; see ``matches(_:)``.
struct MCPRequestID: Hashable, Sendable {
    /// The id as the sender wrote it.
    let text: JSONText

    init?(_ text: JSONText) {
        guard text.string != nil || text.isNumber else { return nil }
        self.text = text
    }

    private var key: String { text.string.map { "\"" + $0 } ?? String(decoding: text.bytes, as: UTF8.self) }

    /// Returns whether a response with this id may answer a request with another id: both are the same, or the server
    /// has returned the id in another JSON type, or rounded a number that is not exact in JavaScript (beyond 2^53). Use
    /// this only for the response to one request.
    func matches(_ other: MCPRequestID) -> Bool {
        if self == other { return true }
        guard let one = number, let two = other.number else { return false }
        return one == two
    }

    private var number: Double? {
        let digits = text.string ?? String(decoding: text.bytes, as: UTF8.self)
        guard let number = Double(digits), number.isFinite else { return nil }
        return number
    }

    static func == (one: MCPRequestID, other: MCPRequestID) -> Bool { one.key == other.key }

    func hash(into hasher: inout Hasher) { hasher.combine(key) }
}
