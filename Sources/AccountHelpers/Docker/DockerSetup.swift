import AccountCommands
import AccountKit
import AccountSupport

/// The programs that docker, podman and skopeo ask for credentials, from docker's `config.json`.
struct DockerSetup {
    /// The registries, each with the suffix of its helper's name.
    private(set) var helpers: [String: String] = [:]

    /// The suffix of the name of the helper for all other registries.
    private(set) var store: String?

    /// The keys of the registries whose password is in this file.
    private(set) var passwords: Set<String> = []

    let path: String

    /// The programs that first read files of their own.
    static let containerTools = ["podman", "skopeo", "buildah"]

    static let programs = ["docker", "podman", "skopeo", "buildah"]

    init(path: String) { self.path = path }

    /// Returns `nil` if the file is not a JSON object.
    init?(_ bytes: [UInt8], path: String) {
        guard let object = JSONValue.object(from: bytes) else { return nil }
        self.path = path
        store = object["credsStore"]?.string
        if case .object(let members)? = object["credHelpers"] { helpers = members.compactMapValues(\.string) }
        guard case .object(let members)? = object["auths"] else { return }
        for (key, value) in members {
            guard case .object(let entry) = value else { continue }
            let secrets = ["auth", "password", "identitytoken", "registrytoken"]
            if secrets.contains(where: { entry[$0]?.string?.isEmpty == false }) { passwords.insert(key) }
        }
    }

    func findings(_ surroundings: ProgramSurroundings) -> [Finding] {
        let tool = surroundings.tool
        let registries = helpers.filter { $0.value == tool }.keys.sorted()
        guard !registries.isEmpty || store == tool else {
            guard let program = Self.programs.first(where: surroundings.isInstalled) else { return [] }
            return [
                Finding(
                    problem: "\(program) does not ask this tool for tokens",
                    advice:
                        ": add `\"credHelpers\": {\"ghcr.io\": \"\(tool)\"}`, with the name of your registry, to \(path)",
                    isNote: true, missingProgram: "docker")
            ]
        }
        var findings: [Finding] = []
        let program = "docker-credential-\(tool)"
        if !surroundings.isInstalled(program) {
            findings.append(
                Finding(
                    problem: "\(path) makes docker run \(program), which does not exist",
                    advice: ": run `ln -s \(tool) \"$(dirname \"$(command -v \(tool))\")\"/\(program)`"))
        }
        findings += registries.compactMap { keyFinding($0, surroundings) }
        let lookedUp = registries.filter { DockerRegistry($0)?.keys.contains($0) == true }
        guard !lookedUp.isEmpty || store == tool else { return findings }
        findings += lookedUp.filter(passwords.contains).map { registry in
            Finding(
                problem: "docker no longer uses the password for \(registry.shown) in \(path)",
                advice: ": you can remove it from `auths`", isNote: true)
        }
        let containerTool = Self.containerTools.first(where: surroundings.isInstalled)
        if let containerTool, lookedUp.contains(DockerRegistry.hub), helpers["docker.io"] != tool {
            findings.append(
                Finding(
                    problem: "\(containerTool) looks up Docker Hub as docker.io, so it does not ask this tool there",
                    advice: ": add `\"docker.io\": \"\(tool)\"` to credHelpers in \(path)", isNote: true))
        }
        let places = lookedUp.map(\.shown).joined(separator: ", ")
        let all = "every registry" + (lookedUp.isEmpty ? "" : ", and for \(places) regardless of other settings")
        findings.append(
            Finding(
                problem: "docker asks this tool for tokens for \(store == tool ? all : places) (\(path))", isNote: true)
        )
        if store == tool {
            findings.append(
                Finding(
                    problem: "`docker login` cannot store passwords, because \(path) has this tool as credsStore",
                    advice: ": use credHelpers to choose this tool for single registries", isNote: true))
        }
        return findings
    }

    /// Reports an entry for a registry that gets no token: docker does not look up the entry, or there is no rule.
    private func keyFinding(_ key: String, _ surroundings: ProgramSurroundings) -> Finding? {
        let tool = surroundings.tool
        guard let registry = DockerRegistry(key), let url = registry.ruleURL else {
            return Finding(
                problem: "docker asks this tool for tokens for \(key.shown), which has no rule",
                advice: ": it is not the name of a registry, such as ghcr.io")
        }
        guard registry.keys.contains(key) else {
            return Finding(
                problem: "docker never asks this tool for tokens for \(key.shown) (\(path)), because it looks up "
                    + registry.key, advice: ": run `\(tool) setup docker \(registry.name)`")
        }
        if surroundings.rules.rules.contains(where: { rule in registry.urls.contains { rule.url.covers($0) } }) {
            return nil
        }
        guard let rule = surroundings.rules.rules.first(where: { url.covers($0.url) }) else {
            return Finding(
                problem: "docker asks this tool for tokens for \(key.shown), which has no rule",
                advice: ": add one with `\(tool) rule add \(url)`")
        }
        return Finding(
            problem: "docker names only the host \(url.host), so the rule for \(rule.url) never applies to it",
            advice: ": add a rule for the host with `\(tool) rule add \(url)`")
    }

    /// Reports the registries that programs read from another source first.
    ///
    /// - Parameters:
    ///   - earlier: The source.
    ///   - program: The program that reads it.
    ///   - removal: The command that removes an entry of the source, without the name of the registry; `nil` if there is
    ///     none.
    func findings(
        hiddenBy earlier: DockerSetup, for program: String, removal: String?, _ surroundings: ProgramSurroundings
    ) -> [Finding] {
        helpers.filter { $0.value == surroundings.tool }.keys.compactMap(DockerRegistry.init).sorted { $0.key < $1.key }
            .compactMap { registry in
                let other = registry.keys.compactMap { earlier.helpers[$0] }.first
                let hasPassword = earlier.passwords.contains { DockerRegistry($0) == registry }
                guard hasPassword || other.map({ $0 != surroundings.tool }) ?? false else { return nil }
                let source = other.map { "asks the helper \($0.shown)" } ?? "uses the password"
                return Finding(
                    problem: "\(program) \(source) for \(registry.name) in \(earlier.path), so it never asks this tool",
                    advice: removal.map { ": run `\($0) \(registry.name)`" } ?? ": unset it")
            }
    }
}
