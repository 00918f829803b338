import AccountHelpers
import AccountKit
import ArgumentParser
import Foundation
import Testing

@testable import AccountCommands

/// The short help shows what most users need, and the complete help shows everything.
@Suite struct HelpTextTests {
    private enum App: AccountApplication {
        static let identifier = "com.example.app"
        static let acceptsIssuer = true
        static var commandGroups: [AccountCommandGroup<Self>] { [.helpers, .changes] }

        static func authority(with options: AuthorityOptions) throws(AccountError) -> any AccountAuthority {
            throw AccountError(.misconfigured, "not needed here")
        }
    }

    private func help(
        of command: (any ParsableCommand.Type)? = nil, isShort: Bool
    ) -> String {
        HelpDetail.$isShort.withValue(isShort) {
            command.map { AccountCommand<App>.helpMessage(for: $0, columns: 80) }
                ?? AccountCommand<App>.helpMessage(columns: 80)
        }
    }

    /// The names at the start of the lines in a section.
    private func names(in help: String, under heading: String? = nil) -> [String] {
        let start = heading.flatMap { help.firstRange(of: "\n\($0):\n")?.upperBound } ?? help.startIndex
        return help[start...].split(separator: "\n").compactMap { line in
            guard line.hasPrefix("  "), !line.hasPrefix("   ") else { return nil }
            let name = line.split(separator: " ").first { !$0.hasPrefix("-") || $0.hasPrefix("--") }
            return name.map { String($0.prefix { $0 != "/" && $0 != "," }) }
        }
    }

    // MARK: Commands

    @Test func `The first screen shows the main commands`() {
        let shown = names(in: help(isShort: true), under: "SUBCOMMANDS").prefix { $0 != "See" }
        #expect(
            Array(shown) == [
                "login", "logout", "whoami", "status", "token", "exec", "sessions", "switch", "setup", "sync",
                "pending",
                "resolve", "doctor",
            ])
    }

    @Test func `The complete help lists the other commands, and no earlier spelling`() {
        let lines = help(isShort: false).split(separator: "\n")
        func lists(_ name: String) -> Bool { lines.contains { $0.hasPrefix("  \(name) ") } }
        for name in [
            "login", "login machine", "refresh", "key", "keep", "rule", "mcp", "headers", "git-credential",
            "kube-credential", "docker-credential",
        ] { #expect(lists(name), "\(name)") }
        #expect(!lists("unlock") && !lists("lock"))
        #expect(help(isShort: false).contains("APP_HOME") && !help(isShort: true).contains("APP_HOME"))
    }

    @Test func `A hidden command can be called`() throws {
        for words in [["refresh"], ["key", "unlock"], ["headers", "https://a.example"], ["login machine"]] {
            _ = try AccountCommand<App>.parseAsRoot(words)
        }
    }

    // MARK: Options

    @Test func `The short help of login shows nine options`() {
        let text = help(of: LoginCommand<App>.self, isShort: true)
        let options = text[(text.firstRange(of: "\nARGUMENTS:\n")?.lowerBound ?? text.startIndex)...]
        #expect(
            names(in: String(options)).sorted() == [
                "--client-id", "--device", "--help", "--password", "--scope", "--service", "--session", "--version",
                "--web", "--with-token", "<url>",
            ])
    }

    @Test func `The complete help of login shows the rest, without the options of a machine`() {
        let text = help(of: LoginCommand<App>.self, isShort: false)
        for name in ["--issuer", "--paste", "--username", "--redirect-uri", "--dpop", "--store", "--json"] {
            #expect(text.contains("\(name)"), "\(name)")
        }
        for name in ["--client-key", "--workload", "--client-credentials"] { #expect(!text.contains("  \(name)")) }
    }

    @Test func `The help of login machine shows its seven options`() {
        let text = HelpDetail.$isShort.withValue(true) { MachineLoginCommand<App>.helpMessage(columns: 80) }
        for name in [
            "--client-credentials", "--client-secret-stdin", "--client-key", "--client-key-id",
            "--client-assertion-audience", "--workload", "--workload-grant",
        ] { #expect(text.contains("\n  \(name)"), "\(name)") }
        #expect(!text.contains("--device") && !text.contains("--redirect-uri"))
        #expect(text.contains("login machine "))
    }

    @Test func `Accepts the earlier spellings of login`() throws {
        let words = ["--client-credentials", "--client-id", "nightly", "--issuer", "https://auth.example.com"]
        #expect(try LoginCommand<App>.parse(words).machine.isGiven)
        #expect(try LoginCommand<App>.parse(["--paste"]).ways.paste)
    }

    @Test func `Shows a number of seconds without a fraction`() {
        let text = help(of: WhoAmICommand<App>.self, isShort: true)
        #expect(text.contains("default:") && text.contains("900)") && !text.contains("900.0"), "\(text)")
        #expect(Seconds(argument: "1.5")?.defaultValueDescription == "1.5")
        #expect(Seconds(argument: "soon") == nil)
    }

    @Test(arguments: ["rule", "setup"])
    func `A command without a subcommand shows its own help`(name: String) throws {
        let command = try #require(
            AccountCommand<App>.groups.flatMap(\.subcommands).first { $0.configuration.commandName == name })
        let text = AccountCommand<App>.help(
            for: CleanExit.helpRequest(command), showingAll: false, tool: "account")
        #expect(text.contains("\nUSAGE: account \(name) "), "\(text)")
        #expect(text.hasPrefix("OVERVIEW: \(command.configuration.abstract)\n"), "\(text)")
        #expect(!text.contains("  login "), "\(text)")
    }

    // MARK: The end of the help

    @Test func `The help ends with the command for the rest, and with its article`() {
        let (short, complete) = ("USAGE: account login [<options>]\n", "USAGE: account login [<options>]\n  --all\n")
        let end = "\nManual: `man account-login`\nArticle: Sign-in flows, in the documentation of AccountKit"
        #expect(
            HelpText.shown(short, complete: complete, showsAll: false, tool: "account") == short
                + "\nMore: `account help login --all`" + end)
        #expect(HelpText.shown(short, complete: complete, showsAll: true, tool: "account") == complete + end)
        #expect(HelpText.shown(short, complete: short, showsAll: false, tool: "account") == short + end)
        let listed = short.replacing("[<options>]", with: "[--web] [--device]")
        #expect(
            HelpText.shown(listed, complete: complete, showsAll: false, tool: "account").hasPrefix(
                "USAGE: account login [<options>]\n"))
        // A completion script, or the help as JSON.
        #expect(HelpText.shown("{1}", complete: "{1, 2}", showsAll: false, tool: "account") == "{1, 2}")
        let embedded = "USAGE: notes account <subcommand>"
        #expect(
            HelpText.shown(embedded, complete: embedded + "\n", showsAll: false, tool: "notes account").contains(
                "\n\nMore: `notes account help --all`\nArticle: Quick start"))
        let own = "USAGE: notes login [<options>]\n"
        #expect(HelpText.shown(own, complete: own, showsAll: false, tool: "notes") == own)
    }

    @Test(arguments: [
        ([], "account"), (["login"], "account-login"), (["login", "machine"], "account-login-machine"),
        (["key", "add"], "account-key"), (["docker-credential", "get"], "docker-credential-account"),
    ])
    func `The help names the manual page of its command`(words: [String], page: String) {
        #expect(HelpText.page(of: words) == page)
    }

    @Test func `Each command has an article with this title`() throws {
        var root = URL(filePath: #filePath)
        for _ in 1...3 { root.deleteLastPathComponent() }
        let files = FileManager.default.enumerator(at: root.appending(path: "Sources"), includingPropertiesForKeys: nil)
        let articles = try #require(files).compactMap { $0 as? URL }.filter { $0.pathExtension == "md" }
        let titles = try Set(articles.map { try String(contentsOf: $0, encoding: .utf8).prefix { $0 != "\n" } })
        for group in AccountCommand<App>.groups {
            for subcommand in group.subcommands {
                let name = try #require(subcommand.configuration.commandName)
                let article = try #require(HelpArticle(of: name.split(separator: " ").map(String.init)), "\(name)")
                #expect(titles.contains("# \(article.title)"), "\(name)")
            }
        }
        #expect(HelpArticle(of: ["key", "add"]) == HelpArticle(of: ["key"]))
        #expect(HelpArticle(of: ["login", "machine"]) != HelpArticle(of: ["login"]))
        #expect(HelpArticle(of: ["list"]) == nil)
    }

    // MARK: Examples

    @Test func `Examples stay under 76 columns`() {
        func check(_ command: any ParsableCommand.Type) {
            for line in command.configuration.discussion.split(separator: "\n") where line.hasPrefix("  ") {
                // The tests have a longer name than the tool.
                let text = line.replacing(CommandLine.toolName, with: "account")
                #expect(text.count <= 76, "\(text)")
            }
            for subcommand in command.configuration.subcommands { check(subcommand) }
        }
        check(AccountCommand<App>.self)
    }

    @Test func `Breaks an example so that a shell reads all of it`() {
        let wide = """
            OVERVIEW: Sign in once, and stay signed in.

            The tool stores the account until you sign out.

              notes account login
              curl -H "Authorization: Bearer $(notes account token)" https://api.example.com
              notes account login machine \\
                  --client-id nightly --client-key key.pem \\
                  --json

            USAGE: notes account <subcommand>
            """
        let narrow = "OVERVIEW: …\n\nUSAGE: notes account <subcommand>"
        #expect(
            HelpText.foldingExamples(of: wide, in: narrow, 40) == """
                OVERVIEW: Sign in once, and stay signed
                in.

                The tool stores the account until you
                sign out.

                  notes account login
                  curl \\
                      -H "Authorization: Bearer $(notes account token)" \\
                      https://api.example.com
                  notes account login machine \\
                      --client-id nightly \\
                          --client-key key.pem \\
                      --json

                USAGE: notes account <subcommand>
                """)
        #expect(HelpText.foldingExamples(of: wide, in: narrow, 90) == narrow)
        let text = HelpText.foldingExamples(of: wide, in: narrow, 80)
        #expect(text.contains("token)\" \\\n      https://api.example.com\n"), "\(text)")
    }

    @Test func `Folds a long command between options`() {
        #expect(HelpText.folded("account login") == "  account login")
        let long = "account login machine https://auth.example.com --client-id nightly --client-key key.pem"
        #expect(
            HelpText.folded(long) == """
                  account login machine https://auth.example.com --client-id nightly \\
                      --client-key key.pem
                """)
    }

    @Test(
        arguments: [
            ("account login [--scope <scope> ...] [--web] [<url>]", "account login [<options>] [<url>]"),
            ("account keep --file <file> [--json]", "account keep --file <file> [<options>]"),
            ("account login [<options>] [<url>]", "account login [<options>] [<url>]"),
            ("account switch <name>", "account switch <name>"),
        ])
    func `The usage of the short help names no option that the help omits`(usage: String, brief: String) {
        #expect(HelpText.brief(usage[...]) == brief)
    }
}
