import AccountCommands
import AccountKit
import AccountSupport

/// The programs that docker, podman and skopeo ask for credentials, from docker's `config.json`.
struct DockerSetup {
    /// The registries, each with the suffix of its helper's name.
    private(set) var helpers: [String: String] = [:]

    /// The suffix of the name of the helper for all other registries.
    private(set) var store: String?

    let path: String

    static let programs = ["docker", "podman", "skopeo", "buildah"]

    init(path: String) { self.path = path }

    /// Returns `nil` if the file is not a JSON object.
    init?(_ bytes: [UInt8], path: String) {
        guard let object = JSONValue.object(from: bytes) else { return nil }
        self.path = path
        store = object["credsStore"]?.string
        if case .object(let members)? = object["credHelpers"] { helpers = members.compactMapValues(\.string) }
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
        for registry in registries {
            let urls = DockerCredential.urls(of: registry)
            guard !urls.contains(where: surroundings.hasRule) else { continue }
            findings.append(
                Finding(
                    problem: "docker asks this tool for tokens for \(registry.shown), which has no rule",
                    advice: urls.first.map { ": add one with `\(tool) rule add \($0)`" } ?? ": it is not a host name"))
        }
        let places = registries.map(\.shown).joined(separator: ", ")
        let all = "every registry" + (registries.isEmpty ? "" : ", and for \(places) regardless of other settings")
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
}
