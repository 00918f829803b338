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
            ? try self.removing(from: &edit, servers)
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

    private func removing(from edit: inout JSONEdit, _ servers: JSONText?) throws -> SetupOutcome {
        // If a name occurs more than once, the last server counts.
        let named = servers?.members.filter { member in
            guard let name = member.name.string, isOwn(member.value), servers?[name] == member.value else {
                return false
            }
            return self.name.map { $0 == name } ?? url.map { arguments(of: member.value).contains($0.text) } ?? true
        }
        let own = (named ?? []).filter { isWritten($0.value) }.compactMap(\.name.string)
        if own.isEmpty, let other = named?.first?.name.string {
            throw AccountError(
                .misconfigured,
                "the server \(other.shown) in \(file ?? "") runs this tool, but is not the server that `setup` writes",
                hint: "remove it from the file")
        }
        guard !own.isEmpty else { return .unchanged("\(file ?? "") has no such server.") }
        for name in own { edit.remove(at: [Self.member, name]) }
        return .changed("Removed from \(file ?? ""): \(own.map(\.shown).joined(separator: ", ")).")
    }

    /// The name of the server in the configuration.
    private var key: String {
        name ?? url.map { String($0.ruled.origin.drop { $0 != "/" }.dropFirst(2)) } ?? ""
    }

    private var arguments: [String] { Self.arguments(tool, url: url?.text, store: store) }

    private static func arguments(_ tool: [String], url: String?, store: String?) -> [String] {
        Array(tool.dropFirst()) + ["mcp"] + (store.map { ["--store=\($0)"] } ?? []) + (url.map { [$0] } ?? [])
    }

    private var entry: JSONEdit.Value {
        .object([("command", .string(tool[0])), ("args", .array(arguments.map { .string($0) }))])
    }

    private func arguments(of server: JSONText) -> [String] { server["args"]?.elements.compactMap(\.string) ?? [] }

    /// Returns whether a server runs this tool, possibly with other arguments than `setup` writes.
    private func isOwn(_ server: JSONText) -> Bool {
        guard let command = server["command"]?.string else { return false }
        let program = ToolProgram(tool[0])
        return (program.isRun(by: command) || program.isGone(command))
            && arguments(of: server).starts(with: tool.dropFirst() + ["mcp"])
    }

    /// Returns whether `setup` writes this server, by this program in any place, and with `url` and `store` if they are
    /// set.
    private func isWritten(_ server: JSONText) -> Bool {
        guard server.members.map(\.name.string).sorted(by: { $0 ?? "" < $1 ?? "" }) == ["args", "command"],
            let command = server["command"]?.string, ToolProgram(tool[0]).isRun(by: command)
        else { return false }
        let set = arguments(of: server)
        let (url, store) = (set.last, set.value(of: "--store"))
        guard let url, (try? RequestURL(url)) != nil else { return false }
        return server["args"]?.elements.map(\.string) == Self.arguments(tool, url: url, store: store)
            && (self.url.map { $0.text == url } ?? true) && (self.store == nil || self.store == store)
    }
}
