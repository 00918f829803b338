import AccountKit
import Testing

@testable import AccountCommands
@testable import AccountHelpers

/// What kubectl does with its configuration.
struct KubeViewTests {
    /// The output of `kubectl config view -o json`.
    private static func view(
        current: String = "dev", user: String = "account", server: String = "https://k8s.example.com:6443",
        cluster: String = "", token: String = "", arguments: String = #""kube-credential""#
    ) -> String {
        """
        {"current-context": "\(current)",
         "clusters": [{"name": "k", "cluster": {"server": "\(server)"\(cluster)}}],
         "contexts": [{"name": "dev", "context": {"cluster": "k", "user": "\(user)"}},
                      {"name": "test", "context": {"cluster": "gone", "user": "other"}}],
         "users": [{"name": "account", "user": {\(token)"exec": {"command": "account", "args": [\(arguments)],
           "provideClusterInfo": true}}}, {"name": "other", "user": {"token": "REDACTED"}}]}
        """
    }

    private func findings(_ text: String, rules: [(String, SessionName)]) throws -> [Finding] {
        let surroundings = ProgramSurroundings(
            tool: "account", rules: RuleSet(try rules.map { Rule(url: try RuleURL($0.0), session: $0.1) }),
            isInstalled: { $0 == "account" }, isSameFile: { $0 == "account" })
        return try #require(KubeView(Array(text.utf8))).findings(surroundings)
    }

    private static let rule = ("https://k8s.example.com:6443", SessionName.default)

    private static let rows: [(view: String, isNote: Bool, text: String)] = [
        (view(user: "other"), true, "run `kubectl config set-context --current --user=account`"),
        (view(current: "test"), true, "run `kubectl config use-context dev`"),
        (view(current: ""), true, "choose one with `kubectl config use-context NAME`"),
        (view(current: "gone"), true, "has no current context"),
        (view(token: #""token": "REDACTED", "#), false, "`kubectl config unset users.account.token`"),
        (view(token: #""tokenFile": "/x", "#), false, "`kubectl config unset users.account.tokenFile`"),
        (view(token: #""username": "x", "#), false, "also has the setting username"),
        (view(server: "https://other.example.com"), false, "`account rule add https://other.example.com/`"),
        (
            view(server: "https://other.example.com", arguments: #""kube-credential","--session=work""#), false,
            "`account rule add https://other.example.com/ --session work`"
        ),
        (view(server: "http://k8s.example.com"), false, "is not an https URL"),
        (view(server: "https://me:hunter2@k8s.example.com"), false, "is not an https URL"),
        (view(cluster: #", "insecure-skip-tls-verify": true"#), false, "does not verify the certificate"),
        (
            view(arguments: #""kube-credential","--session=work""#), false,
            "`account rule add https://k8s.example.com:6443/ --session work`"
        ),
    ]

    @Test(arguments: rows)
    func `Reports why kubectl does not use the token`(view: String, isNote: Bool, text: String) throws {
        let findings = try findings(view, rules: [Self.rule])
        #expect(findings.count == 1 && findings.first?.isNote == isNote, "\(findings.map(\.problem))")
        #expect(findings.contains { ($0.problem + $0.advice).contains(text) }, "\(findings)")
        #expect(!findings.contains { ($0.problem + $0.advice).contains("hunter2") })
    }

    @Test func `Finds nothing if kubectl uses the token`() throws {
        #expect(try findings(Self.view(), rules: [Self.rule]).isEmpty)
        let any = Self.view(server: "https://other.example.com", arguments: #""kube-credential","--any-cluster""#)
        #expect(try findings(any, rules: []).isEmpty)
        #expect(try findings(#"{"users": null, "contexts": null}"#, rules: []).isEmpty)
        #expect(KubeView(Array("[]".utf8)) == nil && KubeView([]) == nil)
    }

    @Test func `Finds the servers that need a rule`() throws {
        let own = try #require(KubeView(Array(Self.view().utf8)))
        #expect(own.servers(of: "account") == ["https://k8s.example.com:6443"])
        let other = try #require(KubeView(Array(Self.view(user: "other").utf8)))
        #expect(other.servers(of: "account") == ["https://k8s.example.com:6443"])
        let none = try #require(KubeView(Array(Self.view(current: "", user: "other").utf8)))
        #expect(none.servers(of: "account") == [])
    }

    /// With `--raw`, this process would get the tokens and passwords of the configuration.
    @Test func `Asks kubectl for its configuration without secrets`() {
        #expect(KubeView.arguments == ["config", "view", "-o", "json"])
    }
}
