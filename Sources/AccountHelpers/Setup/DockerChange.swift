import AccountCommands
import AccountKit
import AccountSupport

/// Adds the credential helper for registries to docker's `config.json`.
struct DockerChange {
    let tool: String

    /// Empty for all registries when removing.
    let registries: [String]

    private static let member = "credHelpers"

    private var file: ConfigurationFile {
        let folder = Environment.value("DOCKER_CONFIG") ?? (Environment.homeDirectory ?? "") + "/.docker"
        return ConfigurationFile(path: folder + "/config.json")
    }

    func apply(removing: Bool, onlyPrinting: Bool) throws -> SetupOutcome {
        let old = try file.read()
        guard var edit = JSONEdit(old ?? []), case let helpers = edit.value(at: [Self.member]),
            helpers?.isObject != false
        else {
            throw AccountError(
                .damaged, "\(file.path) is not a configuration of docker, so it was not changed",
                hint: "correct the file")
        }
        let set = helpers?.members.compactMap { member in member.name.string.map { ($0, member.value.string) } } ?? []
        let current = Dictionary(set) { $1 }
        let named = removing && registries.isEmpty ? current.keys.sorted() : registries
        let changed = named.filter { (current[$0] == .some(tool)) == removing }
        guard !changed.isEmpty else {
            return .unchanged(
                removing
                    ? "docker does not ask this tool for tokens." : "docker already asks this tool for these tokens.")
        }
        let names = changed.map(\.shown).joined(separator: ", ")
        for registry in changed where !removing {
            if DockerCredential.urls(of: registry).isEmpty {
                throw AccountError(.invalidArgument, "\(registry.shown) is not the name of a registry, such as ghcr.io")
            }
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
            return .shown("\(removing ? "remove from" : "add to") \(file.path):\n\(entries)\n")
        }
        for registry in changed {
            if removing {
                edit.remove(at: [Self.member, registry])
            } else {
                do {
                    try edit.set(.string(tool), at: [Self.member, registry])
                } catch {
                    throw AccountError(.damaged, "\(file.path): \(error.name.shown) is not an object")
                }
            }
        }
        try file.replace(old, with: edit.text, makesFolder: true)
        guard !removing else { return .changed("docker no longer asks this tool for tokens for \(names).") }
        let program = "docker-credential-\(tool)"
        let advice =
            ExternalProgram.isInstalled(program)
            ? "" : " It runs \(program), which does not exist yet: see `\(tool) doctor --programs`."
        return .changed("docker asks this tool for tokens for \(names).\(advice)")
    }
}
