import AccountCommands
import AccountKit
import AccountSupport

/// Adds a server that this tool connects to the configuration of an MCP client; see ``MCPClientFormat``.
struct MCPChange {
    let tool: [String]

    /// `nil` for all servers of this tool when removing.
    let url: RequestURL?
    let name: String?

    /// The location of sessions; `nil` for the store in the environment.
    let store: String?

    /// `nil` to print the entry.
    let file: String?

    func apply(removing: Bool, onlyPrinting: Bool) throws -> SetupOutcome {
        guard let file else {
            return .shown(text(of: .common))
        }
        let configuration = ConfigurationFile(path: file)
        let old = try configuration.read()
        guard var edit = JSONEdit(old ?? [], allowingComments: true) else {
            throw AccountError(
                .damaged, "\(file) is not a JSON object, so it was not changed", hint: "correct the file")
        }
        var format = MCPClientFormat(path: file, edit)
        // The file may have become that of another client since then.
        let places = [format] + MCPClientFormat.all
        if removing,
            let other = places.first(where: { place in
                edit.value(at: place.place)?.members.contains { isOwn($0.value) } ?? false
            })
        {
            format = other
        }
        let value = edit.value(at: format.place)
        let servers = value?.isNull == true ? nil : value
        guard servers?.isObject != false else {
            throw AccountError(
                .damaged, "\(format.name) in \(file) is not an object, so the file was not changed",
                hint: "correct the file")
        }
        let outcome =
            removing
            ? try self.removing(from: &edit, format, servers)
            : try adding(to: &edit, format, servers)
        guard case .changed(let text) = outcome else { return outcome }
        if onlyPrinting {
            return .shown(
                removing
                    ? "\(text)\n"
                    : self.text(of: format))
        }
        try configuration.replace(old, with: edit.text)
        return outcome
    }

    private func text(of format: MCPClientFormat) -> String {
        var value = JSONEdit.Value.object([(key, entry(format))])
        for name in format.place.reversed() { value = .object([(name, value)]) }
        return value.text("  ", "") + "\n"
    }

    private func adding(
        to edit: inout JSONEdit, _ format: MCPClientFormat, _ servers: JSONText?
    ) throws -> SetupOutcome {
        if let current = servers?[key] {
            guard isOwn(current) else {
                throw AccountError(
                    .misconfigured, "\(path) has another server named \(key.shown)",
                    hint: "choose another name with --name")
            }
            let set = arguments(of: current)
            guard let url, set.contains(url.text) else {
                throw AccountError(
                    .misconfigured, "\(path) already has a server \(key.shown) for another URL",
                    hint: "choose another name with --name")
            }
            guard store == nil || set.value(of: "--store") == store else {
                throw AccountError(
                    .misconfigured, "\(path) already has the server \(key.shown) with another store",
                    hint: "remove it with --remove first, or choose another name with --name")
            }
            // The user may have added arguments. Replace only a path that no longer exists.
            guard let words = MCPClientFormat.words(of: current), words.program.hasPrefix("/"),
                !ExternalProgram.isInstalled(words.program)
            else { return .unchanged("\(path) already has the server \(key.shown).") }
            let list = ([tool[0]] + words.arguments).map { JSONEdit.Value.string($0) }
            try edit.set(
                current["command"]?.isArray == true ? .array(list) : list[0], at: format.place + [key, "command"],
                in: path)
        } else if servers == nil {
            try edit.set(.object([(key, entry(format))]), at: format.place, in: path)
        } else {
            try edit.set(entry(format), at: format.place + [key], in: path)
        }
        return .changed("\(path) has the server \(key.shown). Restart the client.")
    }

    private func removing(
        from edit: inout JSONEdit, _ format: MCPClientFormat, _ servers: JSONText?
    ) throws -> SetupOutcome {
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
                "the server \(other.shown) in \(path) runs this tool, but is not the server that `setup` writes",
                hint: "remove it from the file")
        }
        guard !own.isEmpty else { return .unchanged("\(path) has no such server.") }
        for name in own { edit.remove(at: format.place + [name]) }
        return .changed("Removed from \(path): \(own.map(\.shown).joined(separator: ", ")).")
    }

    private var path: String { file ?? "" }

    /// The name of the server in the configuration.
    private var key: String {
        name ?? url?.ruled.authority ?? ""
    }

    private var arguments: [String] { Self.arguments(tool, url: url?.text, store: store) }

    private static func arguments(_ tool: [String], url: String?, store: String?) -> [String] {
        Array(tool.dropFirst()) + ["mcp"] + (store.map { ["--store=\($0)"] } ?? []) + (url.map { [$0] } ?? [])
    }

    private func entry(_ format: MCPClientFormat) -> JSONEdit.Value {
        format.entry(command: tool[0], arguments: arguments)
    }

    private func arguments(of server: JSONText) -> [String] { MCPClientFormat.words(of: server)?.arguments ?? [] }

    /// Returns whether a server runs this tool, possibly with other arguments than `setup` writes.
    private func isOwn(_ server: JSONText) -> Bool {
        guard let words = MCPClientFormat.words(of: server) else { return false }
        let program = ToolProgram(tool[0])
        return (program.isRun(by: words.program) || program.isGone(words.program))
            && words.arguments.starts(with: tool.dropFirst() + ["mcp"])
    }

    /// Returns whether `setup` writes this server, by this program in any place, and with `url` and `store` if they are
    /// set.
    private func isWritten(_ server: JSONText) -> Bool {
        let names = server.members.compactMap(\.name.string).filter { $0 != "type" }
        let joinsCommand = server["command"]?.isArray == true
        guard names.sorted() == (joinsCommand ? ["command"] : ["args", "command"]),
            server["type"].map({ $0.string == (joinsCommand ? "local" : "stdio") }) ?? true,
            server.members.count == names.count + (server["type"] == nil ? 0 : 1),
            let words = MCPClientFormat.words(of: server), ToolProgram(tool[0]).isRun(by: words.program)
        else { return false }
        let set = words.arguments
        let (url, store) = (set.last, set.value(of: "--store"))
        guard let url, (try? RequestURL(url)) != nil else { return false }
        let count = server[joinsCommand ? "command" : "args"]?.elements.count
        return set == Self.arguments(tool, url: url, store: store) && count == set.count + (joinsCommand ? 1 : 0)
            && (self.url.map { $0.text == url } ?? true) && (self.store == nil || self.store == store)
    }
}
