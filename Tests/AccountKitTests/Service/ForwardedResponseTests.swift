import Testing

@testable import AccountKit

struct ForwardedResponseTests {
    private static let token = "canary-0123456789"

    private func response(_ fields: [(String, String)], _ pieces: String...) -> ForwardedResponse {
        let (body, continuation) = AsyncThrowingStream.makeStream(of: [UInt8].self)
        for piece in pieces { continuation.yield(Array(piece.utf8)) }
        continuation.finish()
        return ForwardedResponse(status: 200, fields: fields, body: body, hiding: [Secret(Self.token)])
    }

    @Test func `Returns no header field that repeats a token`() {
        let response = response([
            ("Location", "/x?t=\(Self.token)"), ("Mcp-Session-Id", "s1"), ("MCP-SESSION-ID", Self.token),
            ("Content-Type", "\(Self.token)/json"),
        ])
        #expect(response.field("location") == nil)
        #expect(response.field("mcp-session-id") == "s1")
        #expect(response.mediaType == "")
        #expect(response.shown("a\u{1B}b") == "ab" && response.shown(Self.token) == nil && response.shown(nil) == nil)
    }

    @Test func `Replaces a token in the body, wherever a piece ends`() async throws {
        let response = response([], "a canary", "-01234", "56789 b ", "canary-")
        var pieces: [String] = []
        for try await piece in response.body { pieces.append(String(decoding: piece, as: UTF8.self)) }
        #expect(pieces == ["a ", "[token removed] b ", "canary-"])
    }
}
