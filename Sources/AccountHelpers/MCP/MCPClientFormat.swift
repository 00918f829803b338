import AccountSupport

/// How a client of MCP keeps its servers in a file. All clients keep an object with the command of each server by name,
/// but under different names. Most accept comments and trailing commas.
struct MCPClientFormat: Equatable {
    /// The names that lead to the object with the servers.
    let place: [String]

    /// The member `type` of each server; `nil` if there is none.
    var transport: String?

    /// Whether `command` is a list that also contains the arguments.
    var joinsCommand = false

    /// Claude Desktop, Claude Code, Cursor, Windsurf, Gemini CLI and others.
    static let common = MCPClientFormat(place: ["mcpServers"])

    /// `mcp.json` of Visual Studio Code, and of Copilot in other editors.
    static let vsCode = MCPClientFormat(place: ["servers"], transport: "stdio")

    /// `settings.json` of Visual Studio Code.
    static let vsCodeSettings = MCPClientFormat(place: ["mcp", "servers"], transport: "stdio")

    static let zed = MCPClientFormat(place: ["context_servers"])

    static let openCode = MCPClientFormat(place: ["mcp"], transport: "local", joinsCommand: true)

    static let all = [common, vsCode, vsCodeSettings, zed, openCode]

    init(place: [String], transport: String? = nil, joinsCommand: Bool = false) {
        self.place = place
        self.transport = transport
        self.joinsCommand = joinsCommand
    }

    /// Chooses the format of a file: by the place where a client looks for it, else by its contents.
    init(path: String, _ edit: JSONEdit) {
        let parts = path.split(separator: "/")
        let folder = parts.dropLast().last ?? ""
        // A profile of Visual Studio Code has its files in `User/profiles/ID`.
        let isVSCode = folder == ".vscode" || folder == "User" || parts.dropLast(2).last == "profiles"
        switch parts.last {
        case "mcp.json" where isVSCode || parts.contains("github-copilot"): self = .vsCode
        case "opencode.json", "opencode.jsonc": self = .openCode
        case "settings.json" where isVSCode: self = .vsCodeSettings
        case "settings.json" where folder == "zed" || folder == ".zed": self = .zed
        // Other clients also have an object `mcp`, with servers in another form.
        default:
            self = Self.all.first { !$0.joinsCommand && edit.value(at: $0.place)?.isObject == true } ?? .common
        }
    }

    /// The names that lead to the object, as text for the user.
    var name: String { place.joined(separator: ".") }

    /// Returns a server of this tool.
    func entry(command: String, arguments: [String]) -> JSONEdit.Value {
        let type: [(String, JSONEdit.Value)] = transport.map { [("type", .string($0))] } ?? []
        let list = arguments.map { JSONEdit.Value.string($0) }
        return .object(
            type
                + (joinsCommand
                    ? [("command", .array([.string(command)] + list))]
                    : [("command", .string(command)), ("args", .array(list))]))
    }

    /// Returns the program and the arguments of a server in any format; `nil` for a server that is a URL.
    static func words(of server: JSONText) -> (program: String, arguments: [String])? {
        guard let command = server["command"] else { return nil }
        let list = (command.isArray ? command : server["args"])?.elements.compactMap(\.string) ?? []
        guard command.isArray else { return command.string.map { ($0, list) } }
        return list.first.map { ($0, Array(list.dropFirst())) }
    }
}
