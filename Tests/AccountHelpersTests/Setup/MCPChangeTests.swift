import AccountKit
import Foundation
import Testing

@testable import AccountHelpers

/// Changes to the configuration of an MCP client.
struct MCPChangeTests {
    private static let url = "https://api.example.com/a/mcp"

    /// Adds a server to a file that has one already. Returns the new text of the file.
    private func add(_ url: String, store: String? = nil, to text: String) throws -> String {
        let path = NSTemporaryDirectory() + "/mcp-change-\(UUID().uuidString).json"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        _ = try MCPChange(tool: ["sh"], url: try RequestURL(url), name: nil, store: store, file: path)
            .apply(removing: false, onlyPrinting: false)
        return String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
    }

    private func file(command: String, arguments: String) -> String {
        #"{"mcpServers": {"api.example.com": {"command": "\#(command)", "args": ["mcp", \#(arguments)]}}}"#
    }

    @Test func `Refuses to replace the server of another URL`() throws {
        let before = file(command: "sh", arguments: #""https://api.example.com/b/mcp""#)
        let error = #expect(throws: AccountError.self) { try add(Self.url, to: before) }
        #expect(error?.code == .misconfigured)
        #expect(error?.hint?.contains("--name") == true)
    }

    @Test func `Keeps the path and the arguments of an existing AccountKit entry`() throws {
        let before = file(command: "/bin/sh", arguments: #""--store", "file:", "\#(Self.url)", "-v""#)
        #expect(try add(Self.url, to: before) == before)
        #expect(try add(Self.url, store: "file:", to: before) == before)
    }

    @Test func `Corrects a path that does not exist, and keeps the arguments`() throws {
        let arguments = #""\#(Self.url)", "-v""#
        let before = file(command: "/nonexistent/sh", arguments: arguments)
        #expect(try add(Self.url, to: before) == file(command: "sh", arguments: arguments))
    }

    @Test func `Writes the store into the entry, and refuses another one`() throws {
        let text = try add(Self.url, store: "file:", to: #"{"mcpServers": {}}"#)
        #expect(text.contains(#"["mcp", "--store=file:", "\#(Self.url)"]"#), "\(text)")
        let error = #expect(throws: AccountError.self) { try add(Self.url, store: "etcd://other", to: text) }
        #expect(error?.code == .misconfigured)
    }
}
