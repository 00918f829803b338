import AccountSupport

/// How a client of MCP keeps its servers in a file. All clients keep an object with the command of each server by name,
/// but under different names. Most accept comments and trailing commas.
struct MCPClientFormat: Equatable {
    /// The names that lead to the object with the servers.
    let place: [String]

    /// Whether each server has a member `type`.
    var namesTransport = false

    /// Claude Desktop, Claude Code, Cursor, Windsurf, Gemini CLI and others.
    static let common = MCPClientFormat(place: ["mcpServers"])

    /// `mcp.json` of Visual Studio Code.
    static let vsCode = MCPClientFormat(place: ["servers"], namesTransport: true)

    /// `settings.json` of Visual Studio Code.
    static let vsCodeSettings = MCPClientFormat(place: ["mcp", "servers"], namesTransport: true)

    static let zed = MCPClientFormat(place: ["context_servers"])

    static let all = [common, vsCode, vsCodeSettings, zed]

    init(place: [String], namesTransport: Bool = false) {
        self.place = place
        self.namesTransport = namesTransport
    }

    /// Chooses the format of a file: by the place where a client looks for it, else by its contents.
    init(path: String, _ edit: JSONEdit) {
        let parts = path.split(separator: "/")
        let folder = parts.dropLast().last ?? ""
        // A profile of Visual Studio Code has its files in `User/profiles/ID`.
        let isVSCode = folder == ".vscode" || folder == "User" || parts.dropLast(2).last == "profiles"
        switch parts.last {
        case "mcp.json" where isVSCode: self = .vsCode
        case "settings.json" where isVSCode: self = .vsCodeSettings
        case "settings.json" where folder == "zed" || folder == ".zed": self = .zed
        default: self = Self.all.first { edit.value(at: $0.place)?.isObject == true } ?? .common
        }
    }

    /// The names that lead to the object, as text for the user.
    var name: String { place.joined(separator: ".") }

    /// Returns a server of this tool.
    func entry(command: String, arguments: [String]) -> JSONEdit.Value {
        let type: [(String, JSONEdit.Value)] = namesTransport ? [("type", .string("stdio"))] : []
        return .object(type + [("command", .string(command)), ("args", .array(arguments.map { .string($0) }))])
    }
}
