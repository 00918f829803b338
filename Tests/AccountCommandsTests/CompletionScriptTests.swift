import AccountKit
import ArgumentParser
import Testing

@testable import AccountCommands

/// `login` and `login machine` offer their own options in each shell. `Verification/Install` runs the script for bash.
@Suite struct CompletionScriptTests {
    private enum App: AccountApplication {
        static let identifier = "com.example.app"
        static let acceptsIssuer = true

        static func authority(with options: AuthorityOptions) throws(AccountError) -> any AccountAuthority {
            throw AccountError(.misconfigured, "not needed here")
        }
    }

    private func script(for shell: CompletionShell) -> String {
        HelpDetail.$generatesCompletions.withValue(true) {
            CompletionScript.separatingMachine(AccountCommand<App>.completionScript(for: shell))
        }
    }

    /// Returns the body of a function of a script for bash or zsh.
    private func function(_ name: String, in script: String) throws -> Substring {
        let start = try #require(script.firstRange(of: "\n\(name)() {\n")).upperBound
        let end = try #require(script[start...].firstRange(of: "\n}\n")).lowerBound
        return script[start..<end]
    }

    @Test(arguments: [CompletionShell.bash, .zsh])
    func `Offers the options of login machine only after both words`(shell: CompletionShell) throws {
        let script = script(for: shell)
        let login = try function("_account_login", in: script)
        #expect(login.contains("--device") && !login.contains("--workload"), "\(login)")
        #expect(login.contains("= machine") && login.contains("        _account_login_machine\n        return\n"))
        // What follows a URL is not a subcommand.
        #expect(!login.contains("compgen") && !login.contains("->command"), "\(login)")
        let machine = try function("_account_login_machine", in: script)
        #expect(machine.contains("--workload") && !machine.contains("--device"), "\(machine)")
        #expect(try !function("_account", in: script).contains("machine"))
    }

    @Test func `Offers the options of login machine only after both words in fish`() {
        let lines = script(for: .fish).split(separator: "\n")
        func offers(_ option: String, after words: String) -> Bool {
            lines.contains { $0.contains("\"\(words)\"") && $0.contains(" -l '\(option)'") }
        }
        #expect(offers("device", after: "account login") && !offers("workload", after: "account login"))
        #expect(offers("workload", after: "account login machine") && !offers("device", after: "account login machine"))
        #expect(lines.contains { $0.hasSuffix("if test \"$unparsed_tokens[2]\" = machine") })
        #expect(!lines.contains { $0.contains("\"account login\" -eq 2'") })
    }

    @Test func `Changes no other script`() {
        let script = "#compdef notes\n\n_notes() {\n    echo login\n}\n"
        #expect(CompletionScript.separatingMachine(script) == script)
        #expect(CompletionScript.separatingMachine("complete -c 'notes' -f\n") == "complete -c 'notes' -f\n")
    }
}
