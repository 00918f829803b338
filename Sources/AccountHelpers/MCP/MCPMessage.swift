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

/// The id of a request: a string or a number. "1" and 1 differ.
struct MCPRequestID: Hashable, Sendable {
    /// The id as the sender wrote it.
    let text: JSONText

    init?(_ text: JSONText) {
        guard text.string != nil || text.isNumber else { return nil }
        self.text = text
    }

    private var key: String { text.string.map { "\"" + $0 } ?? String(decoding: text.bytes, as: UTF8.self) }

    static func == (one: MCPRequestID, other: MCPRequestID) -> Bool { one.key == other.key }

    func hash(into hasher: inout Hasher) { hasher.combine(key) }
}
