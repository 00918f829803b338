import AccountKit
import Testing

@testable import AccountCommands
@testable import AccountHelpers

/// The findings of `doctor` about docker's settings.
@Suite struct DockerSetupTests {
    private static let path = "/home/alice/.docker/config.json"

    private func findings(_ text: String?, installed: Set<String>, rules: String...) throws -> [Finding] {
        let setup =
            if let text { try #require(DockerSetup(Array(text.utf8), path: Self.path)) } else {
                DockerSetup(path: Self.path)
            }
        return setup.findings(
            ProgramSurroundings(
                tool: "account", rules: RuleSet(try rules.map { Rule(url: try RuleURL($0), session: .default) }),
                isInstalled: installed.contains, isSameFile: installed.contains))
    }

    @Test(arguments: [nil, "{}", #"{"credsStore":"pass","credHelpers":{"ghcr.io":"gh"}}"#, #"{"credHelpers":[1]}"#])
    func `Explains the setup if docker uses another helper`(text: String?) throws {
        let findings = try findings(text, installed: ["skopeo", "podman"])
        #expect(findings.map(\.isNote) == [true])
        #expect(findings[0].problem == "podman does not ask this tool for tokens")
        #expect(findings[0].advice.contains(#"`"credHelpers": {"ghcr.io": "account"}`"#))
        #expect(findings[0].advice.contains(Self.path))
    }

    @Test func `Explains the effect of docker's credsStore setting`() throws {
        let findings = try findings(#"{"credsStore":"account"}"#, installed: ["docker-credential-account"])
        #expect(findings.map(\.isNote) == [true, true])
        #expect(findings[0].problem.contains("every registry"))
        #expect(findings[1].problem.contains("`docker login`"))
    }
}
