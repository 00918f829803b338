import AccountKit
import Testing

@testable import AccountCommands
@testable import AccountHelpers

/// What git does at a URL, from git itself: which helpers it asks, and in which order.
@Suite(.enabled(if: ExternalProgram.isInstalled("git"), "git decides"))
struct GitQuestionTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var settings: [GitSetup.Helper]
        var url = "https://git.example.com"
        var username: String?
        var answer: GitQuestion.Answer

        var testDescription: String { settings.map { "\($0.setting)=\($0.command)" }.joined(separator: ", ") }
    }

    private static let own = helper("!account git-credential")
    private static let password = helper("!f() { echo username=x; echo password=hunter2; }; f")
    private static let here = "https://git.example.com"

    private static func helper(_ command: String, _ url: String? = nil) -> GitSetup.Helper {
        GitSetup.Helper(url: url, command: command)
    }

    private static func password(_ url: String) -> GitSetup.Helper { helper(password.command, url) }

    private static let rows: [Row] = [
        Row(settings: [own], answer: .asks(after: [])),
        Row(settings: [own, password], answer: .asks(after: [])),
        Row(settings: [password, own], answer: .answered(by: password)),
        Row(settings: [helper("!true"), own], answer: .asks(after: [helper("!true")])),
        Row(settings: [helper("!exit 3"), own], answer: .asks(after: [helper("!exit 3")])),
        Row(settings: [helper("!echo quit=1; :"), own], answer: .answered(by: helper("!echo quit=1; :"))),
        Row(settings: [helper("nonexistent"), own], answer: .asks(after: [helper("nonexistent")])),
        // Not run: they would open a window.
        Row(settings: [helper("manager"), own], answer: .answered(by: helper("manager"))),
        Row(
            settings: [helper("/opt/gcm/git-credential-manager"), own],
            answer: .answered(by: helper("/opt/gcm/git-credential-manager"))),
        Row(settings: [helper("libsecret"), own], answer: .asks(after: [helper("libsecret")])),
        // An empty helper discards those before it, of every setting that matches the URL.
        Row(settings: [password, helper(""), own], answer: .asks(after: [])),
        Row(settings: [own, helper("")], answer: .neverAsks),
        Row(settings: [own, helper("", here)], answer: .neverAsks),
        Row(settings: [own, helper("", here), password(here)], answer: .answered(by: password(here))),
        Row(settings: [password, helper("", here), helper(own.command, here)], answer: .asks(after: [])),
        Row(settings: [own, helper("", "https://github.com")], answer: .asks(after: [])),
        // git matches hosts with wildcards, paths and users.
        Row(
            settings: [password("https://*.example.com"), own], answer: .answered(by: password("https://*.example.com"))
        ),
        Row(settings: [password("https://other.example.com"), own], answer: .asks(after: [])),
        Row(
            settings: [password(here + "/team"), own], url: here + "/team/notes",
            answer: .answered(by: password(here + "/team"))),
        Row(settings: [password(here + "/team"), own], url: here + "/other", answer: .asks(after: [])),
        Row(
            settings: [password("https://alice@git.example.com"), own], username: "alice",
            answer: .answered(by: password("https://alice@git.example.com"))),
        Row(settings: [password("https://alice@git.example.com"), own], username: "bob", answer: .asks(after: [])),
        Row(settings: [helper(own.command, here)], url: "https://git.example.org", answer: .neverAsks),
        Row(settings: [helper("!/opt/gone/account git-credential"), own], answer: .asks(after: [])),
        Row(settings: [own], url: "http://127.0.0.1:8080/team", answer: .asks(after: [])),
    ]

    private func question(_ settings: [GitSetup.Helper]) -> GitQuestion {
        GitQuestion(
            settings: settings, tool: "account",
            program: ToolProgram(name: "account", isInstalled: { $0 == "account" }, isSameFile: { $0 == "account" }))
    }

    @Test(arguments: rows)
    func `Reports the helper that git asks first`(row: Row) async throws {
        let answer = await question(row.settings).answer(at: try RuleURL(row.url), username: row.username)
        #expect(answer == row.answer)
    }

    @Test func `Asks for a URL as git does`() throws {
        #expect(
            GitQuestion.input(try RuleURL("https://git.example.com:8443/a/b"), "alice")
                == "protocol=https\nhost=git.example.com:8443\npath=a/b\nusername=alice\n\n")
        #expect(GitQuestion.input(try RuleURL("http://[::1]"), nil) == "protocol=http\nhost=[::1]\n\n")
    }

    @Test func `Has no answer if git did not run the helpers`() {
        #expect(question([Self.own]).answer(from: "fatal: bad config\n") == nil)
        #expect(question([Self.own]).answer(from: "account-helper: 7\n") == nil)
        // git does not ask the user.
        #expect(question([]).variables["GIT_TERMINAL_PROMPT"] == "0")
        #expect(question([]).variables["GIT_ASKPASS"] == "")
    }

    @Test func `Reports what git does at the URLs with a rule, and how to change it`() throws {
        let surroundings = ProgramSurroundings(
            tool: "account", rules: RuleSet([Rule(url: try RuleURL(Self.here), session: .default)]),
            isInstalled: { $0 == "account" }, isSameFile: { $0 == "account" })
        let setup = GitSetup("credential.helper\n!account git-credential\0")
        func finding(_ answer: GitQuestion.Answer) throws -> Finding {
            let findings = setup.findings(surroundings, answers: [(try RuleURL(Self.here), answer)])
            return try #require(findings.count == 2 ? findings.last : nil)
        }
        let first = try finding(.asks(after: []))
        #expect(first.isNote && first.problem == "git asks this tool first for https://git.example.com/")
        let later = try finding(.asks(after: [Self.helper("store")]))
        #expect(later.isNote && later.problem.contains("asks git-credential-store before this tool"))
        for answer in [GitQuestion.Answer.answered(by: Self.password), .neverAsks] {
            let never = try finding(answer)
            #expect(!never.isNote && never.problem.contains("never asks this tool"))
            #expect(!never.problem.contains("hunter2"))
            #expect(
                never.advice.contains(
                    "`git config --global --replace-all credential.https://git.example.com.helper ''`"))
            #expect(
                never.advice.contains("--add credential.https://git.example.com.helper '!account git-credential'`"))
        }
    }
}
