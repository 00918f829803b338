import AccountKit

/// Which programs docker, podman and skopeo ask for credentials, as docker's `config.json` says.
struct DockerSetup {
    /// The registries, each with the end of its helper's name.
    private(set) var helpers: [String: String] = [:]

    /// The end of the name of the helper for all others.
    private(set) var store: String?

    /// Where the file is.
    let path: String

    static let programs = ["docker", "podman", "skopeo", "buildah"]

    /// There is no file.
    init(path: String) { self.path = path }

    /// `nil` if the file is no JSON object.
    init?(_ bytes: [UInt8], path: String) {
        guard let object = JSONValue.object(from: bytes) else { return nil }
        self.path = path
        store = object["credsStore"]?.string
        if case .object(let members)? = object["credHelpers"] { helpers = members.compactMapValues(\.string) }
    }

    /// - Returns: Nothing if no such program is there.
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
                    isNote: true)
            ]
        }
        var findings: [Finding] = []
        let program = "docker-credential-\(tool)"
        if !surroundings.isInstalled(program) {
            findings.append(
                Finding(
                    problem: "docker runs \(program), as \(path) says, and there is no such program",
                    advice: ": `ln -s \(tool) \"$(dirname \"$(command -v \(tool))\")\"/\(program)` makes it"))
        }
        for registry in registries {
            let urls = DockerCredential.urls(of: registry)
            guard !urls.contains(where: surroundings.hasRule) else { continue }
            findings.append(
                Finding(
                    problem: "docker asks this tool for tokens for \(registry.shown), which has no rule",
                    advice: urls.first.map { ": add one with `\(tool) rule add \($0)`" } ?? ": it is no host's name"))
        }
        let places = registries.map(\.shown).joined(separator: ", ")
        let all = "every registry" + (registries.isEmpty ? "" : ", and for \(places) whatever else is set")
        findings.append(
            Finding(
                problem: "docker asks this tool for tokens for \(store == tool ? all : places) (\(path))", isNote: true)
        )
        if store == tool {
            findings.append(
                Finding(
                    problem: "no password of `docker login` can be stored, since \(path) has this tool as credsStore",
                    advice: ": with credHelpers it is asked for single registries", isNote: true))
        }
        return findings
    }
}
