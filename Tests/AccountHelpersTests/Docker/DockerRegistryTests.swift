import AccountKit
import Testing

@testable import AccountCommands
@testable import AccountHelpers

/// The keys by which docker finds the credentials of a registry.
struct DockerRegistryTests {
    @Test(
        arguments: [
            ("ghcr.io", "ghcr.io"), ("GHCR.io", "ghcr.io"), ("https://ghcr.io", "ghcr.io"),
            ("https://ghcr.io/", "ghcr.io"),
            ("HTTPS://GHCR.IO/v2/", "ghcr.io"), ("https://ghcr.io:443", "ghcr.io"), ("ghcr.io:443", "ghcr.io"),
            ("ghcr.io/owner/image:tag", "ghcr.io"), ("ghcr.io:", "ghcr.io"),
            ("registry.example.com:5000", "registry.example.com:5000"),
            ("https://registry.example.com:80", "registry.example.com:80"),
            ("http://127.0.0.1:5000/", "127.0.0.1:5000"), ("localhost", "localhost"),
            ("http://localhost:80", "localhost"),
            ("localhost:5000", "localhost:5000"), ("[::1]:5000", "[::1]:5000"), ("registry:5000", "registry:5000"),
            ("docker.io", DockerRegistry.hub), ("index.docker.io", DockerRegistry.hub),
            ("Docker.IO", DockerRegistry.hub),
            ("registry-1.docker.io", DockerRegistry.hub), ("https://registry-1.docker.io/v2/", DockerRegistry.hub),
            ("https://index.docker.io/v1/", DockerRegistry.hub), ("https://index.docker.io/v1", DockerRegistry.hub),
            ("docker.io/library/alpine", DockerRegistry.hub), ("https://hub.docker.com/", DockerRegistry.hub),
            // Names of users at Docker Hub, and what is no registry.
            ("alpine", nil), ("library/alpine", nil), ("https://registry", nil), ("", nil), ("https://", nil),
            ("http://registry.example.com", nil), ("ftp://ghcr.io", nil), ("me@ghcr.io", nil), ("ghcr.io:x", nil),
            ("ghcr.io?x", nil), ("bücher.example", nil),
        ] as [(String, String?)])
    func `Finds the key that docker looks up`(text: String, key: String?) {
        #expect(DockerRegistry(text)?.key == key)
        if let key { #expect(DockerRegistry(key)?.key == key) }
    }

    @Test(arguments: ["docker.io", "https://index.docker.io/v1/", "index.docker.io", "registry-1.docker.io"])
    func `A rule for any host of Docker Hub serves all its names`(server: String) throws {
        for url in [
            "https://docker.io", "https://index.docker.io", "https://registry-1.docker.io",
            "https://index.docker.io/v1",
        ] {
            let rules = RuleSet([Rule(url: try RuleURL(url), session: .default)])
            #expect(DockerCredential.urls(of: server).contains { rules.rule(for: $0) { nil } != nil }, "\(url)")
        }
        let other = RuleSet([Rule(url: try RuleURL("https://docker.io.example.com"), session: .default)])
        #expect(!DockerCredential.urls(of: server).contains { other.rule(for: $0) { nil } != nil })
    }

    // MARK: Findings

    private func setup(_ text: String, path: String = "/config.json") throws -> DockerSetup {
        try #require(DockerSetup(Array(text.utf8), path: path))
    }

    private func surroundings(_ rules: [String], _ installed: Set<String> = []) throws -> ProgramSurroundings {
        let installed = installed.union(["docker-credential-account"])
        return ProgramSurroundings(
            tool: "account", rules: RuleSet(try rules.map { Rule(url: try RuleURL($0), session: .default) }),
            isInstalled: installed.contains, isSameFile: installed.contains)
    }

    @Test(
        arguments: [
            ("ghcr.io", ["https://ghcr.io"], nil), ("127.0.0.1:5000", ["http://127.0.0.1:5000"], nil),
            ("https://index.docker.io/v1/", ["https://docker.io"], nil),
            ("docker.io", ["https://index.docker.io"], nil),
            ("ghcr.io", [], "`account rule add https://ghcr.io/`"),
            ("ghcr.io", ["https://ghcr.io/team"], "add a rule for the host with `account rule add https://ghcr.io/`"),
            ("https://index.docker.io/v1/", [], "`account rule add https://index.docker.io/`"),
            ("https://ghcr.io/", ["https://ghcr.io"], "`account setup docker ghcr.io`"),
            ("GHCR.io", ["https://ghcr.io"], "`account setup docker ghcr.io`"),
            ("ghcr.io:443", ["https://ghcr.io"], "`account setup docker ghcr.io`"),
            ("index.docker.io", ["https://docker.io"], "`account setup docker docker.io`"),
            ("library/alpine", [], "it is not the name of a registry"),
        ] as [(String, [String], String?)])
    func `Reports an entry that gets no token`(key: String, rules: [String], advice: String?) throws {
        let findings = try setup(#"{"credHelpers":{"\#(key)":"account"}}"#).findings(try surroundings(rules))
        let problems = findings.filter { !$0.isNote }
        #expect(problems.count == (advice == nil ? 0 : 1))
        if let advice { #expect(problems.first?.advice.contains(advice) == true) }
        // Notes name only what docker asks for.
        #expect(
            findings.contains { $0.isNote && $0.problem.contains("for \(key) (") }
                == (advice?.contains("setup") != true && key != "library/alpine"))
    }

    @Test func `Reports passwords and helpers that another file has first`() throws {
        let own = try setup(#"{"credHelpers":{"ghcr.io":"account","https://index.docker.io/v1/":"account"}}"#)
        func findings(_ text: String) throws -> [Finding] {
            own.findings(
                hiddenBy: try setup(text, path: "/auth.json"), for: "podman", removal: "podman logout",
                try surroundings([]))
        }
        let password = try findings(#"{"auths":{"ghcr.io":{"auth":"aHVudGVyMg=="},"quay.io":{"auth":"eA=="}}}"#)
        #expect(password.map(\.isNote) == [false])
        #expect(
            password.first?.problem == "podman uses the password for ghcr.io in /auth.json, so it never asks this tool")
        #expect(password.first?.advice == ": run `podman logout ghcr.io`")
        #expect(
            try findings(#"{"auths":{"docker.io":{"auth":"eA=="}}}"#).first?.advice == ": run `podman logout docker.io`"
        )
        #expect(
            try findings(#"{"credHelpers":{"ghcr.io":"gh"}}"#).first?.problem.contains("asks the helper gh") == true)
        #expect(try findings(#"{"credHelpers":{"ghcr.io":"account"},"auths":{"ghcr.io":{}}}"#).isEmpty)
    }

    @Test func `Says that an entry replaces the password in the same file`() throws {
        let text = #"{"credsStore":"pass","auths":{"ghcr.io":{"auth":"eA=="}},"credHelpers":{"ghcr.io":"account"}}"#
        let findings = try setup(text).findings(try surroundings(["https://ghcr.io"]))
        #expect(findings.map(\.isNote) == [true, true])
        #expect(findings[0].problem == "docker no longer uses the password for ghcr.io in /config.json")
    }

    @Test func `Says that podman looks up another key for Docker Hub`() throws {
        let rules = try surroundings(["https://docker.io"], ["podman"])
        let hub = #""https://index.docker.io/v1/":"account""#
        let findings = try setup(#"{"credHelpers":{\#(hub)}}"#).findings(rules)
        #expect(findings.contains { $0.isNote && $0.problem.contains("podman looks up Docker Hub as docker.io") })
        let both = try setup(#"{"credHelpers":{\#(hub),"docker.io":"account"}}"#).findings(rules)
        #expect(both.count == 1)
    }
}
