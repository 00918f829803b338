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
            isInstalled: { ["account", "/opt/bin/account", "/opt/other/account"].contains($0) },
            isSameFile: { $0 == "account" || $0 == "/opt/bin/account" })
    }

    @Test func `Reads git helpers with their URLs, and clears the list on an empty one`() {
        let setup = GitSetup(
            output(
                ("credential.helper", "store"),
                ("credential.https://git.example.com/a.b.helper", "!account git-credential"),
                ("credential.helper", ""), ("credential.helper", "cache --timeout=60\nx")))
        // An empty helper for all URLs also discards those for single URLs.
        #expect(setup.helpers == [.init(url: nil, command: "cache --timeout=60\nx")])
        let single = GitSetup(
            output(
                ("credential.helper", "store"), ("credential.https://git.example.com/a.b.helper", "cache"),
                ("credential.https://git.example.com/a.b.helper", "")))
        #expect(single.helpers == [.init(url: nil, command: "store")])
        #expect(single.settings.map(\.command) == ["store", "cache", ""])
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
        ("!/opt/other/account git-credential", "account", "/opt/other/account"),
        ("!myaccount git-credential", "account", "myaccount"), ("!account git-credential", "gists account", nil),
        ("store", "account", nil), ("account", "account", nil),
        ("account git-credential", "account", nil), ("!/opt/my tools/account git-credential", "account", nil),
        ("!/opt/my\\ tools/account git-credential", "account", "/opt/my tools/account"),
        ("!account git-credential; true", "account", nil), ("!\"$HOME/account\" git-credential", "account", nil),
        ("!account git-credential get", "account", nil), ("!account docker-credential", "account", nil),
    ])
    func `Reads the program of a git helper that runs this command`(command: String, tool: String, program: String?) {
        #expect(GitSetup.program(of: command, for: tool) == program)
    }

    @Test(arguments: [
        ("!account git-credential", "asks this tool for tokens at every URL"),
        ("!/opt/bin/account git-credential", "asks this tool for tokens at every URL"),
        ("!/opt/other/account git-credential", "does not ask this tool"),
        ("!myaccount git-credential", "does not ask this tool"),
        ("!gists account git-credential", "does not ask this tool"),
        ("!/opt/gone/account git-credential", "/opt/gone/account for tokens, but that program does not exist"),
    ])
    func `Distinguishes this tool from a program with the same name`(command: String, problem: String) throws {
        let setup = GitSetup(output(("credential.helper", command)))
        let findings = setup.findings(try surroundings("https://git.example.com"))
        #expect(findings.count == 1 && findings[0].problem.contains(problem), "\(findings.map(\.problem))")
    }

    @Test(arguments: [
        ("!sh git-credential", nil, true), ("!/bin/sh git-credential", nil, true),
        ("!sh git-credential --store=file:", nil, true), ("!sh git-credential '--store=etcd://a/b c'", nil, false),
        ("!sh git-credential --store=file:", "file:", true), ("!sh git-credential --store=file:", "etcd://a/b", false),
        ("!sh git-credential", "file:", false), ("!sh git-credential --store file:", nil, false),
        ("!sh git-credential --store=file: --verbose", nil, false), ("!sh git-credential --verbose", nil, false),
        ("!sh git-credential get", nil, false), ("!sh -x git-credential", nil, false),
        ("!/opt/other/sh git-credential", nil, false), ("!/bin/cat git-credential", nil, false),
        ("!./sh git-credential", nil, false), ("! sh git-credential", nil, false), ("sh git-credential", nil, false),
        ("!'sh' git-credential", nil, false), ("!env sh git-credential", nil, false),
    ])
    func `Recognizes only the git helper that setup writes`(command: String, store: String?, isWritten: Bool) {
        #expect(GitChange(tool: "sh", store: store).isWritten(command) == isWritten)
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

    @Test(arguments: [
        ("account git-credential", "does not begin with an exclamation mark"),
        ("!/opt/my tools/account git-credential", "a path with spaces must be quoted"),
        ("/opt/my tools/account git-credential", "a path with spaces must be quoted"),
    ])
    func `Reports a helper that git reads in another way`(command: String, reason: String) throws {
        let surroundings = ProgramSurroundings(
            tool: "account", rules: RuleSet(), isInstalled: { ["account", "/opt/my tools/account"].contains($0) },
            isSameFile: { $0 == "account" })
        let findings = GitSetup(output(("credential.helper", command))).findings(surroundings)
        #expect(findings.first?.isNote == false && findings.first?.problem.contains(reason) == true, "\(findings)")
        #expect(findings.first?.advice.contains("--unset-all credential.helper '") == true)
    }

    @Test(
        arguments: [
            ("store --file /home/alice/.passwords", "git-credential-store"), ("!gh auth git-credential", "gh"),
            ("!'/opt/my tools/x' hunter2", "/opt/my tools/x"),
            ("!f() { echo password=hunter2; }; f", "a shell command"),
            ("!PASSWORD=hunter2 x", "a shell command"), ("/usr/lib/git-core/git-credential-libsecret", nil),
        ] as [(String, String?)])
    func `Names a helper without the rest of its command`(command: String, shown: String?) {
        let helper = GitSetup.Helper(url: nil, command: command)
        #expect(helper.shown == shown ?? command)
        let single = GitSetup.Helper(url: "https://me:hunter2@git.example.com", command: command)
        #expect(single.shown == (shown ?? command) + " (for git.example.com)")
    }
}
