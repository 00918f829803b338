import AccountCommands
import AccountKit
import AccountSupport

/// The servers in the file of an MCP client that this tool connects.
struct MCPSetup {
    struct Server: Equatable {
        var name: String
        var command: String
        var arguments: [String]
    }

    private(set) var servers: [Server] = []

    /// The names of the servers that the client does not read, because they are in the object of another client.
    private(set) var misplaced: [String] = []

    let path: String
    let format: MCPClientFormat

    /// Returns `nil` if the file is not an object of JSON, with or without comments.
    init?(_ bytes: [UInt8], path: String) {
        guard let edit = JSONEdit(bytes, allowingComments: true) else { return nil }
        self.path = path
        format = MCPClientFormat(path: path, edit)
        for other in MCPClientFormat.all {
            for member in edit.value(at: other.place)?.members ?? [] {
                guard let name = member.name.string, let words = MCPClientFormat.words(of: member.value) else {
                    continue
                }
                servers.append(Server(name: name, command: words.program, arguments: words.arguments))
                if other != format { misplaced.append(name) }
            }
        }
    }

    /// The files of known clients in the home folder. A client that is not installed has none.
    static func paths(home: String, configuration: String) -> [String] {
        let folders = [configuration, home + "/Library/Application Support"]
        let own = [
            ".cursor/mcp.json", ".claude.json", ".codeium/windsurf/mcp_config.json", ".gemini/settings.json",
            ".copilot/mcp-config.json",
        ].map { "\(home)/\($0)" }
        let shared = ["Claude/claude_desktop_config.json", "Code/User/mcp.json", "Code/User/settings.json"]
        return own + folders.flatMap { folder in shared.map { "\(folder)/\($0)" } }
            + [
                "zed/settings.json", "opencode/opencode.json", "opencode/opencode.jsonc",
                "github-copilot/intellij/mcp.json", "github-copilot/xcode/mcp.json",
            ].map { "\(configuration)/\($0)" }
    }

    /// The folders in which every program looks for programs, also one that the desktop has started.
    #if os(Linux)
    private static let commonFolders: Set = ["/usr/local/bin", "/usr/bin", "/bin"]
    #else
    private static let commonFolders: Set = ["/usr/bin", "/bin", "/usr/sbin", "/sbin"]
    #endif

    func findings(_ surroundings: ProgramSurroundings) -> [Finding] {
        let words = surroundings.tool.split(separator: " ").dropFirst().map(String.init) + ["mcp"]
        let program = surroundings.program
        return servers.filter { server in
            (program.isRun(by: server.command) || program.isGone(server.command))
                && server.arguments.starts(with: words)
        }.flatMap { finding($0, surroundings) }
    }

    private func finding(_ server: Server, _ surroundings: ProgramSurroundings) -> [Finding] {
        let name = "the MCP server \(server.name.shown) (\(path))"
        guard surroundings.isInstalled(server.command) else {
            return [
                Finding(
                    problem: "the program \(server.command.shown) of \(name) does not exist",
                    advice: ": install it, or correct `command` in the file")
            ]
        }
        var findings: [Finding] = []
        if misplaced.contains(server.name) {
            findings.append(
                Finding(
                    problem: "the client does not read \(name), because it reads only `\(format.name)`",
                    advice: ": move the server there"))
        }
        let url = server.arguments.last.flatMap { try? RequestURL($0) }
        if let url, !surroundings.rules.rules.contains(where: { $0.url.covers(url.ruled) }) {
            findings.append(
                Finding(
                    problem: "there is no rule for \(url.ruled), so \(name) gets no token",
                    advice: ": add one with `\(surroundings.tool) rule add \(url.ruled)`"))
        }
        if findings.isEmpty {
            findings.append(
                Finding(
                    problem: "the MCP client runs this tool for \(url?.ruled.description ?? "a URL") (\(path))",
                    isNote: true))
        }
        // A client that the desktop starts does not have the search path of the shell.
        if !server.command.contains("/"), let place = surroundings.location(server.command),
            !Self.commonFolders.contains(place.parentDirectory)
        {
            findings.append(
                Finding(
                    problem:
                        "a client that you start from the desktop may not find \(server.command.shown), because only your "
                        + "shell may have \(place.parentDirectory) in its search path",
                    advice: ": if so, write \(place) as its `command` in \(path)", isNote: true))
        }
        return findings
    }
}
