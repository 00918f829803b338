import AccountKit
import AccountSupport

/// The session of a server before revision 2026-07-28.
///
/// Source: Model Context Protocol 2025-06-18, "Transports", section "Session Management".
struct MCPServerSession: Sendable {
    /// Absent if the server keeps no sessions.
    private(set) var id: String?

    /// The version that client and server agreed on.
    let version: String

    /// The client's `initialize`, to begin again if the server has forgotten the session.
    let beginning: MCPMessage

    /// Reads the response to `initialize`; `nil` if it names no version.
    init?(beginning request: MCPMessage, _ result: JSONText, _ response: ForwardedResponse) {
        guard let version = result["protocolVersion"]?.string, MCPFieldValue.isVersion(version) else { return nil }
        self.version = version
        id = Self.id(in: response)
        beginning = request
    }

    private static func id(in response: ForwardedResponse) -> String? {
        response.field("mcp-session-id").flatMap { id in
            1...1024 ~= id.utf8.count && id.utf8.allSatisfy { 0x21...0x7E ~= $0 } ? id : nil
        }
    }

    /// Returns the session with the id in a later response. Servers may replace the id, although the specification does not
    /// mention that.
    func renamed(by response: ForwardedResponse) -> MCPServerSession {
        var session = self
        session.id = Self.id(in: response) ?? id
        return session
    }
}
