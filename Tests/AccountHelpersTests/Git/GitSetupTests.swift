import AccountKit
import Testing

@testable import AccountCommands
@testable import AccountHelpers

/// The findings of `doctor` about git's settings.
@Suite struct GitSetupTests {
    private func output(_ settings: (name: String, value: String)...) -> String {
        settings.map { "\($0.name)\n\($0.value)\0" }.joined()
    }

    private func surroundings(_ rules: String..., tool: String = "account") throws -> ProgramSurroundings {
        ProgramSurroundings(
            tool: tool, rules: RuleSet(try rules.map { Rule(url: try RuleURL($0), session: .default) }),
            isInstalled: { $0 == "account" || $0 == "/opt/bin/account" })
    }

    @Test func `Reads git helpers with their URLs, and clears the list on an empty one`() {
        let setup = GitSetup(
            output(
                ("credential.helper", "store"),
                ("credential.https://git.example.com/a.b.helper", "!account git-credential"),
                ("credential.helper", ""), ("credential.helper", "cache --timeout=60\nx")))
        #expect(
            setup.helpers == [
                .init(url: "https://git.example.com/a.b", command: "!account git-credential"),
                .init(url: nil, command: "cache --timeout=60\nx"),
            ])
        #expect(GitSetup("").helpers == [])
        // A name without a value means true, which is not a helper.
        #expect(GitSetup("credential.helper\0").helpers == [])
    }

    @Test(arguments: [
        ("!account git-credential", "account", "account"),
        ("!/opt/bin/account git-credential", "account", "/opt/bin/account"),
        ("/opt/bin/account git-credential", "account", "/opt/bin/account"),
        ("!'/opt/my tools/account' git-credential", "account", "/opt/my tools/account"),
        ("!gists account git-credential", "gists account", "gists"),
        ("!account git-credential --store=etcds://a.example:2379/x", "account", "account"),
        ("!account git-credential --store 'file:'", "account", "account"),
        ("!gists account git-credential", "account", nil), ("!account git-credential", "gists account", nil),
        ("store", "account", nil), ("account", "account", nil), ("!myaccount git-credential", "account", nil),
        ("!account git-credential get", "account", nil), ("!account docker-credential", "account", nil),
    ])
    func `Recognizes a git helper that runs this tool's command`(command: String, tool: String, program: String?) {
        #expect(GitSetup.program(of: command, for: tool) == program)
    }

    @Test func `Reads the store of a git helper`() {
        #expect(GitSetup.store(of: "!account git-credential") == nil)
        #expect(GitSetup.store(of: "!account git-credential --store=file:") == "file:")
        #expect(GitSetup.store(of: "!account git-credential '--store=etcd://a/b' --verbose") == "etcd://a/b")
    }

    @Test func `Hides a password in the URL of a git helper`() throws {
        let setup = GitSetup(output(("credential.https://me:s3cret@git.example.com.helper", "!account git-credential")))
        let findings = setup.findings(try surroundings())
        #expect(findings.map(\.isNote) == [true])
        #expect(findings.allSatisfy { !($0.problem + $0.advice).contains("s3cret") })
    }

    @Test(
        arguments: [
            ([], true), ([("credential.usehttppath", "true")], false), ([("credential.usehttppath", "false")], true),
            ([("credential.https://git.example.com.usehttppath", "1")], false),
            (
                [
                    ("credential.https://git.example.com.usehttppath", "1"),
                    ("credential.https://git.example.com.usehttppath", "no"),
                ], true
            ),
            ([("credential.https://other.example.com.usehttppath", "true")], true),
        ] as [([(String, String)], Bool)])
    func `Reports a missing useHttpPath if a rule has a path`(settings: [(String, String)], isMissing: Bool) throws {
        let helper = "credential.helper\n!account git-credential\0"
        let setup = GitSetup(helper + settings.map { "\($0.0)\n\($0.1)\0" }.joined())
        let findings = setup.findings(
            try surroundings("https://git.example.com/team", "https://git.example.com/other", "https://a.example"))
        let advice = "`git config --global credential.https://git.example.com.useHttpPath true`"
        #expect(!findings.contains { !$0.isNote })
        #expect(findings.count { $0.advice.contains(advice) } == (isMissing ? 1 : 0))
        #expect(GitSetup(helper + "credential.usehttppath\0").urlsWithPath == [nil])
    }
}
