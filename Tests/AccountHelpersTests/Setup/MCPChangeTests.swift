import AccountKit
import Foundation
import Testing

@testable import AccountHelpers

/// Changes to the configuration of an MCP client.
struct MCPChangeTests {
    private static let url = "https://api.example.com/a/mcp"

    /// Adds a server to a file that has one already. Returns the new text of the file.
    private func add(
        _ url: String, store: String? = nil, to text: String, in file: String = "mcp.json"
    ) throws -> String {
        let folder = NSTemporaryDirectory() + "/mcp-change-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        let path = folder + "/" + file
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: folder) }
        _ = try MCPChange(tool: ["sh"], url: try RequestURL(url), name: nil, store: store, file: path)
            .apply(removing: false, onlyPrinting: false)
        return String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
    }

    private func file(command: String, arguments: String) -> String {
        #"{"mcpServers": {"api.example.com": {"command": "\#(command)", "args": ["mcp", \#(arguments)]}}}"#
    }

    private static let entry = #"{"command": "sh", "args": ["mcp", "https://api.example.com/a/mcp"]}"#

    private static let others = [
        #"{"command": "/opt/other/sh", "args": ["mcp", "https://api.example.com/a/mcp"]}"#,
        #"{"command": "/bin/cat", "args": ["mcp", "https://api.example.com/a/mcp"]}"#,
        #"{"command": "bin/sh", "args": ["mcp", "https://api.example.com/a/mcp"]}"#,
        #"{"command": "sh", "args": ["mcp", "--verbose", "https://api.example.com/a/mcp"]}"#,
        #"{"command": "sh", "args": ["mcp", "--store", "file:", "https://api.example.com/a/mcp"]}"#,
        #"{"command": "sh", "args": ["mcp", "https://api.example.com/a/mcp", "--store=file:"]}"#,
        #"{"command": "sh", "args": ["mcp", "https://api.example.com/a/mcp", 1]}"#,
        #"{"command": "sh", "args": ["mcp", "-v"]}"#, #"{"command": "sh", "args": ["mcp"]}"#,
        #"{"command": "sh", "args": ["mcp", "https://api.example.com/a/mcp"], "env": {"A": "b"}}"#,
    ]

    /// Removes servers from a file. Returns its new text, or `nil` if the command refuses.
    private func remove(_ url: String? = nil, store: String? = nil, from text: String) throws -> String? {
        let path = NSTemporaryDirectory() + "/mcp-change-\(UUID().uuidString).json"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let change = MCPChange(
            tool: ["sh"], url: try url.map { try RequestURL($0) }, name: nil, store: store, file: path)
        let outcome: SetupOutcome?
        do {
            outcome = try change.apply(removing: true, onlyPrinting: false)
        } catch let error as AccountError where error.code == .misconfigured {
            outcome = nil
        }
        let after = String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
        guard case .changed? = outcome else {
            #expect(after == text)
            return outcome == nil ? nil : after
        }
        return after
    }

    @Test(arguments: others)
    func `Removes only the server that setup writes`(other: String) throws {
        let both = #"{"mcpServers": {"a": \#(Self.entry), "b": \#(other)}}"#
        #expect(try remove(from: both) == #"{"mcpServers": {"b": \#(other)}}"#)
        let alone = #"{"mcpServers": {"b": \#(other)}}"#
        let after = try remove(from: alone)
        #expect(after == nil || after == alone)
        // The last of two servers with the same name counts.
        let twice = #"{"mcpServers": {"a": \#(Self.entry), "a": \#(other)}}"#
        let kept = try remove(from: twice)
        #expect(kept == nil || kept == twice)
    }

    @Test func `Removes the server of this tool at any path, by URL and store`() throws {
        let path = Self.entry.replacing(#""sh""#, with: #""/bin/sh""#)
        let text = #"{"mcpServers": {"a": \#(path)}}"#
        #expect(try remove(from: text) == "{}")
        #expect(try remove(Self.url, from: text) == "{}")
        #expect(try remove(Self.url + "/x", from: text) == text)
        #expect(try remove(store: "file:", from: text) == nil)
        let stored = text.replacing(#""mcp", "#, with: #""mcp", "--store=file:", "#)
        #expect(try remove(from: stored) == "{}")
        #expect(try remove(store: "file:", from: stored) == "{}")
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

    @Test func `Writes the command of a client that joins it with its arguments`() throws {
        let entry = #"{"type": "local", "command": ["sh", "mcp", "\#(Self.url)"]}"#
        func text(_ entry: String) -> String { #"{"mcp": {"api.example.com": \#(entry)}, "theme": "x"}"# }
        #expect(try add(Self.url, to: #"{"theme": "x", "mcp": {}}"#, in: "opencode.json").contains(entry))
        #expect(try add(Self.url, to: text(entry), in: "opencode.json") == text(entry))
        let moved = entry.replacing(#"["sh""#, with: #"["/nonexistent/sh""#)
        #expect(try add(Self.url, to: text(moved), in: "opencode.json") == text(entry))
        #expect(try remove(from: text(entry)) == #"{"theme": "x"}"#)
        let changed = entry.replacing("}", with: #", "enabled": true}"#)
        #expect(try remove(from: text(changed)) == nil)
    }

    @Test func `Writes the store into the entry, and refuses another one`() throws {
        let text = try add(Self.url, store: "file:", to: #"{"mcpServers": {}}"#)
        #expect(text.contains(#"["mcp", "--store=file:", "\#(Self.url)"]"#), "\(text)")
        let error = #expect(throws: AccountError.self) { try add(Self.url, store: "etcd://other", to: text) }
        #expect(error?.code == .misconfigured)
    }
}
