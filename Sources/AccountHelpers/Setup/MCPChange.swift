import AccountCommands
import AccountKit
import AccountSupport

/// Adds a server that this tool connects to the configuration of an MCP client. The clients use one format: an object
/// `mcpServers` with the command of each server by name.
struct MCPChange {
    let tool: [String]

    /// `nil` for all servers of this tool when removing.
    let url: RequestURL?
    let name: String?

    /// The location of sessions; `nil` for the store in the environment.
    let store: String?

    /// `nil` to print the entry.
    let file: String?

    private static let member = "mcpServers"

    func apply(removing: Bool, onlyPrinting: Bool) throws -> SetupOutcome {
        guard let file else {
            return .shown(JSONEdit.Value.object([(Self.member, .object([(key, entry)]))]).text("  ", "") + "\n")
        }
        let configuration = ConfigurationFile(path: file)
        let old = try configuration.read()
        guard var edit = JSONEdit(old ?? []), case let servers = edit.value(at: [Self.member]),
            servers?.isObject != false
        else {
            throw AccountError(
                .damaged, "\(file) is not JSON with an object \(Self.member), so it was not changed",
                hint: "correct the file; comments are not supported")
        }
        let outcome =
            removing
            ? self.removing(from: &edit, servers)
            : try adding(to: &edit, servers?[key])
        guard case .changed(let text) = outcome else { return outcome }
        if onlyPrinting {
            return .shown(
                removing
                    ? "\(text)\n"
                    : JSONEdit.Value.object([(Self.member, .object([(key, entry)]))]).text("  ", "") + "\n")
        }
        try configuration.replace(old, with: edit.text)
        return outcome
    }

    private func adding(to edit: inout JSONEdit, _ current: JSONText?) throws -> SetupOutcome {
        if let current {
            guard isOwn(current) else {
                throw AccountError(
                    .misconfigured, "\(file ?? "") has another server named \(key.shown)",
                    hint: "choose another name with --name")
            }
            let set = arguments(of: current)
            guard let url, set.contains(url.text) else {
                throw AccountError(
                    .misconfigured, "\(file ?? "") already has a server \(key.shown) for another URL",
                    hint: "choose another name with --name")
            }
            guard store == nil || set.value(of: "--store") == store else {
                throw AccountError(
                    .misconfigured, "\(file ?? "") already has the server \(key.shown) with another store",
                    hint: "remove it with --remove first, or choose another name with --name")
            }
            // The user may have added arguments. Replace only a path that no longer exists.
            guard let command = current["command"]?.string, command.hasPrefix("/"),
                !ExternalProgram.isInstalled(command)
            else { return .unchanged("\(file ?? "") already has the server \(key.shown).") }
            try edit.set(.string(tool[0]), at: [Self.member, key, "command"])
        } else {
            try edit.set(entry, at: [Self.member, key])
        }
        return .changed("\(file ?? "") has the server \(key.shown). Restart the client.")
    }

    private func removing(from edit: inout JSONEdit, _ servers: JSONText?) -> SetupOutcome {
        let own = servers?.members.filter { member in
            guard isOwn(member.value) else { return false }
            if let name { return member.name.string == name }
            return url.map { arguments(of: member.value).contains($0.text) } ?? true
        }
        let names = (own ?? []).compactMap(\.name.string)
        guard !names.isEmpty else { return .unchanged("\(file ?? "") has no such server.") }
        for name in names { edit.remove(at: [Self.member, name]) }
        return .changed("Removed from \(file ?? ""): \(names.map(\.shown).joined(separator: ", ")).")
    }

    /// The name of the server in the configuration.
    private var key: String {
        name ?? url.map { String($0.ruled.origin.drop { $0 != "/" }.dropFirst(2)) } ?? ""
    }

    private var arguments: [String] {
        let options = store.map { ["--store=\($0)"] } ?? []
        let places = url.map { [$0.text] } ?? []
        return Array(tool.dropFirst()) + ["mcp"] + options + places
    }

    private var entry: JSONEdit.Value {
        .object([("command", .string(tool[0])), ("args", .array(arguments.map { .string($0) }))])
    }

    private func arguments(of server: JSONText) -> [String] { server["args"]?.elements.compactMap(\.string) ?? [] }

    private func isOwn(_ server: JSONText) -> Bool {
        server["command"]?.string?.split(separator: "/").last.map(String.init) == tool[0]
            && arguments(of: server).starts(with: tool.dropFirst() + ["mcp"])
    }
}
