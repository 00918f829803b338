import AccountKit
import AccountSupport
import Testing

@testable import AccountCommands
@testable import AccountHelpers

/// The files of MCP clients.
struct MCPSetupTests {
    @Test(
        arguments: [
            ("/home/a/.cursor/mcp.json", "", ["mcpServers"]), ("/home/a/.vscode/mcp.json", "", ["servers"]),
            ("/home/a/project/.mcp.json", "{}", ["mcpServers"]),
            ("/home/a/.config/Code/User/mcp.json", "{}", ["servers"]),
            ("/home/a/.config/Code/User/profiles/-1a2b/mcp.json", "{}", ["servers"]),
            ("/home/a/.config/Code/User/mcp.json", #"{"mcpServers": {}}"#, ["servers"]),
            ("/home/a/.config/Code/User/settings.json", "{}", ["mcp", "servers"]),
            ("/home/a/.config/Claude/claude_desktop_config.json", "{}", ["mcpServers"]),
            ("/home/a/.config/zed/settings.json", "{}", ["context_servers"]),
            ("/home/a/.gemini/settings.json", "{}", ["mcpServers"]),
            ("/home/a/.config/github-copilot/intellij/mcp.json", "", ["servers"]),
            ("/home/a/.config/opencode/opencode.json", "{}", ["mcp"]), ("opencode.jsonc", "// c", ["mcp"]),
            ("/tmp/x.json", #"{"mcp": {"a": {}}}"#, ["mcpServers"]),
            ("/tmp/x.json", #"{"servers": {}} // VS Code"#, ["servers"]),
            ("/tmp/x.json", #"{"mcp": {"servers": {}}}"#, ["mcp", "servers"]),
            ("/tmp/x.json", #"{"context_servers": {}}"#, ["context_servers"]),
            ("/tmp/x.json", #"{"servers": [], "mcpServers": {}}"#, ["mcpServers"]), ("mcp.json", "", ["mcpServers"]),
        ] as [(String, String, [String])])
    func `Finds where a client keeps its servers`(path: String, text: String, place: [String]) throws {
        let edit = try #require(JSONEdit(Array(text.utf8), allowingComments: true))
        #expect(MCPClientFormat(path: path, edit).place == place)
    }

    private func findings(
        _ text: String, path: String = "/x/mcp.json", rules: [String] = ["https://api.example.com/mcp"],
        location: String = "/usr/bin/account"
    ) throws -> [Finding] {
        let surroundings = ProgramSurroundings(
            tool: "account", rules: RuleSet(try rules.map { Rule(url: try RuleURL($0), session: .default) }),
            isInstalled: { $0 == "account" || $0 == "/opt/other/account" }, isSameFile: { $0 == "account" },
            location: { $0 == "account" ? location : nil })
        return try #require(MCPSetup(Array(text.utf8), path: path)).findings(surroundings)
    }

    private static func server(_ command: String = "account", in place: String = "mcpServers") -> String {
        #"{"\#(place)": {"a": {"command": "\#(command)", "args": ["mcp", "https://api.example.com/mcp?x=1"],}}} // c"#
    }

    @Test func `Reports a server that does not work`() throws {
        #expect(try findings(Self.server()).map(\.isNote) == [true])
        let gone = try findings(Self.server("/opt/gone/account"))
        #expect(gone.map(\.isNote) == [false] && gone[0].problem.contains("/opt/gone/account"))
        let unruled = try findings(Self.server(), rules: [])
        #expect(unruled.map(\.isNote) == [false])
        #expect(unruled[0].advice == ": add one with `account rule add https://api.example.com/mcp`")
        let misplaced = try findings(Self.server(), path: "/home/a/.vscode/mcp.json")
        #expect(misplaced.map(\.isNote) == [false] && misplaced[0].problem.contains("reads only `servers`"))
        #expect(try findings(Self.server(in: "servers"), path: "/home/a/.vscode/mcp.json").map(\.isNote) == [true])
        #expect(try findings(Self.server("/opt/other/account")).isEmpty)
        #expect(try findings(#"{"mcpServers": {"a": {"url": "https://x"}, "b": 1}}"#).isEmpty)
    }

    @Test func `Reads the commands of OpenCode`() throws {
        let server = #"{"type": "local", "command": ["account", "mcp", "https://api.example.com/mcp"]}"#
        #expect(try findings(#"{"mcp": {"a": \#(server)}}"#, path: "/x/opencode.json").map(\.isNote) == [true])
        let misplaced = try findings(#"{"mcpServers": {"a": \#(server)}}"#, path: "/x/opencode.json")
        #expect(misplaced.map(\.isNote) == [false] && misplaced[0].problem.contains("reads only `mcp`"))
        let others = #"{"a": {"command": []}, "b": {"command": [1]}, "c": {"type": "remote"}}"#
        #expect(try findings(#"{"mcp": \#(others)}"#, path: "/x/opencode.json").isEmpty)
    }

    @Test func `Says that the desktop may not have the search path of the shell`() throws {
        let findings = try findings(Self.server(), location: "/home/a/.local/bin/account")
        #expect(findings.map(\.isNote) == [true, true])
        #expect(findings[1].problem.contains("/home/a/.local/bin") && findings[1].advice.contains("`command`"))
    }
}
