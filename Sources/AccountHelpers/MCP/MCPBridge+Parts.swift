import AccountCommands
import AccountKit
import AccountSupport

extension MCPMessage {
    /// The version that a request of revision 2026-07-28 or later names; `nil` for earlier ones.
    ///
    /// Source: Model Context Protocol 2026-07-28, "Versioning and Compatibility".
    var version: String? {
        guard let version = params?["_meta"]?["io.modelcontextprotocol/protocolVersion"]?.string,
            MCPFieldValue.isVersion(version)
        else { return nil }
        return version
    }

    /// The header fields that describe the message.
    ///
    /// Source: Model Context Protocol 2026-07-28, "Streamable HTTP", section "Request Metadata"; 2025-06-18,
    /// "Transports", sections "Session Management" and "Protocol Version Header".
    func fields(of session: (id: String?, version: String)?, _ modernVersion: String?) -> [String: String] {
        var fields: [String: String] = [:]
        guard let version = version ?? (session == nil && requestID == nil ? modernVersion : nil) else {
            fields["MCP-Protocol-Version"] = session?.version
            fields["Mcp-Session-Id"] = session?.id
            return fields
        }
        fields["MCP-Protocol-Version"] = version
        if let method { fields["Mcp-Method"] = MCPFieldValue.encoded(method) }
        let source: String? =
            switch method {
            case "tools/call", "prompts/get": "name"
            case "resources/read": "uri"
            default: nil
            }
        if let source, let name = params?[source]?.string { fields["Mcp-Name"] = MCPFieldValue.encoded(name) }
        return fields
    }
}

extension EventStreamParser {
    /// Prepares for another connection to the same stream.
    mutating func restart() {
        let (id, pause) = (lastEventID, retryMilliseconds)
        self = EventStreamParser(limit: limit, lastEventID: id, retryMilliseconds: pause)
    }
}

extension ForwardedResponse {
    /// Reads the whole body.
    ///
    /// - Throws: `tooLarge` if the body is longer than `limit` bytes. A body of a stated length is then not read.
    func collected(upTo limit: Int, from url: String) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        if let count = field("content-length").flatMap({ Int($0) }), count > 0 {
            guard count <= limit else { throw AccountError(tooLongFrom: url, limit) }
            bytes.reserveCapacity(count)
        }
        for try await piece in body {
            guard bytes.count + piece.count <= limit else { throw AccountError(tooLongFrom: url, limit) }
            bytes += piece
        }
        try Task.checkCancellation()
        return bytes
    }

    /// Whether the server may no longer know the session of the request. The specification demands 404. After a restart,
    /// many servers respond with 400, and some with 401, 403 or 410. Only an error with the id of a request is surely about
    /// the request.
    func refusesSession(_ body: [UInt8]) -> Bool {
        if status == 404 || status == 410 { return true }
        guard [400, 401, 403].contains(status) else { return false }
        return namesSession(body) || status == 400 && errorCode(ofRequestIn: body) == nil
    }

    /// Whether the text of an error is about the session.
    ///
    /// An error with the id of a request and a code of JSON-RPC 2.0, section 5.1, comes from a session that exists.
    func namesSession(_ body: [UInt8]) -> Bool {
        let code = errorCode(ofRequestIn: body)
        guard code.map({ !["-32700", "-32602", "-32601", "-32603"].contains($0) }) ?? true else { return false }
        let text = String(decoding: body.prefix(1 << 16), as: UTF8.self).lowercased()
        // A server without a session does not know that the client has begun one.
        return text.contains("session") || text.contains("initiali")
    }

    private func errorCode(ofRequestIn body: [UInt8]) -> String? {
        guard let message = JSONText(body), let id = message["id"], MCPRequestID(id) != nil else { return nil }
        return message["error"]?["code"].flatMap { MCPFieldValue.text(of: $0) }
    }

    /// Returns the server's explanation of an error, in one line that is safe to show and without tokens: a member of a JSON
    /// body, as in RFC 6749, section 5.2, RFC 9457, section 3.1, and JSON-RPC 2.0, section 5.1, or a short text; `nil` for a
    /// web page.
    func explanation(in body: [UInt8]) -> String? {
        guard !isWebPage(body) else { return nil }
        guard body.beginsLikeJSON, let object = JSONText(body) else {
            return shown(String(decoding: body.prefix(4096), as: UTF8.self))
        }
        let error = object["error"]
        let texts = [
            object["error_description"], object["message"], error?["message"], object["detail"], object["title"], error,
            object["reason"],
        ]
        return texts.lazy.compactMap { $0?.string }.compactMap { shown($0) }.first
    }

    /// Returns the error of a response with an error status, whose body nothing has read yet.
    func refusal(by url: String) async -> AccountError {
        // Without a body, only the explanation is missing. A stream may have no end.
        let isStream = mediaType == "text/event-stream"
        let body = isStream ? [] : (try? await collected(upTo: 1 << 16, from: url)) ?? []
        return AccountError(refusal: self, saying: explanation(in: body), by: url)
    }

    /// Whether the body is a web page, which no MCP server sends.
    func isWebPage(_ body: [UInt8]) -> Bool {
        let first = body.first { ![0x20, 0x09, 0x0A, 0x0D, 0xEF, 0xBB, 0xBF].contains($0) }
        return first == UInt8(ascii: "<") && mediaType != "application/xml"
    }

    /// Reads the response to a request of the bridge itself, and ignores other messages before it.
    func response(to request: MCPMessage, upTo limit: Int, from url: String) async throws -> MCPMessage {
        if mediaType == "text/event-stream" {
            var parser = EventStreamParser(limit: limit)
            for try await piece in body {
                for case .message(let data) in parser.events(in: piece) {
                    if let message = MCPMessage.Batch(data).first(where: { $0.answers(request) }) { return message }
                }
            }
        } else {
            let messages = MCPMessage.Batch(try await collected(upTo: limit, from: url))
            if let message = messages.first(where: { if case .response = $0.kind { true } else { false } }) {
                return message
            }
        }
        throw AccountError(.requestRefused, "\(url) did not respond with a message")
    }
}

extension AccountError {
    /// Whether the server accepts no request until the user signs in again.
    var requiresSignIn: Bool {
        [.notSignedIn, .renewalRefused, .insufficientScope, .stepUpRequired].contains(code)
    }

    /// The connection to a server broke during a request.
    init(lost url: String) {
        self.init(
            .serviceUnavailable, "the connection to \(url) was lost before the response", hint: "try again")
    }

    /// Another server responded, such as a captive portal.
    init(interceptedBy response: ForwardedResponse, at url: String) {
        self.init(
            .serviceUnavailable,
            "another server responded instead of \(url) (\(response.status) with a web page), perhaps a captive portal",
            hint: "sign in to the network, and try again")
    }

    init(tooLongFrom url: String, _ limit: Int) {
        let size = limit < 1 << 20 ? "\(limit >> 10) KiB" : "\(limit >> 20) MiB"
        self.init(.tooLarge, "\(url) sent a message that is longer than \(size)")
    }

    /// A response with an error status that contains no JSON-RPC error.
    ///
    /// - Parameter text: The explanation of the server.
    init(refusal response: ForwardedResponse, saying text: String?, by url: String) {
        let words = text.map { ": \($0)" } ?? ""
        switch response.status {
        case 401: self.init(.notSignedIn, "\(url) rejected the token\(words)")
        case 511: self.init(interceptedBy: response, at: url)
        case 403:
            let challenge = response.field("www-authenticate") ?? ""
            let scope = challenge.firstMatch(of: /scope="([^"]*)"/).flatMap { response.shown(String($0.output.1)) }
                .map { ", and requires the scope \($0)" }
            self.init(
                .requestRefused, "\(url) refused the request (403)\(scope ?? "")\(words)",
                hint: scope == nil ? nil : "sign in again with --scope")
        case 300...399:
            let target = response.shown(response.field("location")).map { " to \($0)" } ?? ""
            self.init(
                .requestRefused, "\(url) redirects the request\(target), and tokens do not follow redirects",
                hint: "use the new URL, and add a rule for it")
        default: self.init(.init(status: response.status), "\(url) responded with status \(response.status)\(words)")
        }
    }
}

extension [UInt8] {
    /// Whether a text begins like a JSON object or array. In a stream of events, a line does not begin like this.
    var beginsLikeJSON: Bool {
        let first = first { !Self.spaces.contains($0) }
        return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
    }

    /// Whether there is more than spaces and line ends.
    var hasContent: Bool { contains { !Self.spaces.contains($0) } }

    /// Without the mark at the beginning that some programs write, and JSON does not allow (RFC 8259, section 8.1).
    var withoutByteOrderMark: [UInt8] { starts(with: [0xEF, 0xBB, 0xBF]) ? Array(dropFirst(3)) : self }

    /// Also the bytes of a byte order mark.
    private static let spaces: [UInt8] = [0x20, 0x09, 0x0A, 0x0D, 0xEF, 0xBB, 0xBF]
}

extension JSONText {
    /// Returns an error for a request.
    ///
    /// The code is the exit code of the commands, outside the range of JSON-RPC, so that no client takes it for an
    /// error of the server (Model Context Protocol 2026-07-28, "Base Protocol", section "Error Codes").
    init(error message: String, _ error: AccountError, of id: MCPRequestID) {
        let data = JSONText(members: [
            ("source", JSONText(string: "account")), ("reason", JSONText(string: error.code.rawValue)),
        ])
        let object = JSONText(members: [
            ("code", JSONText(integer: Int(error.exitCode))), ("message", JSONText(string: message)), ("data", data),
        ])
        self.init(members: [("jsonrpc", JSONText(string: "2.0")), ("id", id.text), ("error", object)])
    }
}
