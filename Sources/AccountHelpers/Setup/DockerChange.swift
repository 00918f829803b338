import AccountCommands
import AccountKit
import AccountSupport

/// Adds the credential helper for registries to docker's `config.json`.
struct DockerChange {
    let tool: String

    /// The registries as the user writes them; see ``DockerRegistry``. Empty for all registries when removing.
    let registries: [String]

    private static let member = "credHelpers"

    private var file: ConfigurationFile {
        let folder = Environment.value("DOCKER_CONFIG") ?? (Environment.homeDirectory ?? "") + "/.docker"
        return ConfigurationFile(path: folder + "/config.json")
    }

    func apply(removing: Bool, onlyPrinting: Bool) throws -> SetupOutcome {
        let old = try file.read()
        guard var edit = JSONEdit(old ?? []), case let value = edit.value(at: [Self.member]),
            case let helpers = value?.isNull == true ? nil : value, helpers?.isObject != false
        else {
            throw AccountError(
                .damaged, "\(file.path) is not a configuration of docker, so it was not changed",
                hint: "correct the file")
        }
        let set = helpers?.members.compactMap { member in member.name.string.map { ($0, member.value.string) } } ?? []
        let current = Dictionary(set) { $1 }
        let own = current.filter { $0.value == tool }.keys.sorted()
        var changed: [String] = []
        // Entries that the user wrote under a key that docker does not look up.
        var obsolete: [String] = []
        if removing {
            let keys = registries.map { DockerRegistry($0)?.key ?? $0 }
            changed = own.filter {
                keys.isEmpty || registries.contains($0) || keys.contains(DockerRegistry($0)?.key ?? $0)
            }
        } else {
            for name in registries {
                guard let registry = DockerRegistry(name) else {
                    throw AccountError(.invalidArgument, "\(name.shown) is not the name of a registry, such as ghcr.io")
                }
                if current[registry.key] != .some(tool), !changed.contains(registry.key) {
                    changed.append(registry.key)
                }
                obsolete += own.filter { DockerRegistry($0) == registry && !registry.keys.contains($0) }
            }
        }
        guard !changed.isEmpty || !obsolete.isEmpty else {
            return .unchanged(
                removing
                    ? "\(file.path) does not contain this tool." : "\(file.path) already contains this tool.")
        }
        let names = changed.map(\.shown).joined(separator: ", ")
        for registry in changed where !removing {
            if let other = current[registry] {
                throw AccountError(
                    .misconfigured, "docker uses the helper \(other?.shown ?? "") for \(registry.shown) (\(file.path))",
                    hint: "remove that entry first")
            }
        }
        if onlyPrinting {
            let entries = JSONEdit.Value.object([
                (Self.member, .object(changed.map { ($0, .string(tool)) }))
            ]).text("  ", "")
            let added = changed.isEmpty ? "" : "\(removing ? "remove from" : "add to") \(file.path):\n\(entries)\n"
            let removed = Set(obsolete).sorted().map { "remove from \(file.path): \($0.shown)\n" }.joined()
            return .shown(added + removed)
        }
        if !removing, value?.isNull == true { try edit.set(.object([]), at: [Self.member], in: file.path) }
        for key in Set(obsolete).sorted() { edit.remove(at: [Self.member, key]) }
        for registry in changed {
            if removing {
                edit.remove(at: [Self.member, registry])
            } else {
                try edit.set(.string(tool), at: [Self.member, registry], in: file.path)
            }
        }
        try file.replace(old, with: edit.text, makesFolder: true)
        guard !removing else { return .changed("Removed this tool from \(file.path) for \(names).") }
        return .changed(
            changed.isEmpty
                ? "Removed entries that docker does not look up from \(file.path)."
                : "Added this tool to \(file.path) for \(names).")
    }
}
