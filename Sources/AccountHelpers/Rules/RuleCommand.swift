import AccountCommands
import AccountKit
import AccountSupport
import ArgumentParser

struct RuleCommand<App: AccountApplication>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "rule", abstract: "Choose the session that other programs use, by URL.",
            discussion: """
                git and other programs get tokens only for URLs that have a rule. The rule with the longest URL wins. \
                Among rules for the same URL, a rule with a directory wins. A sign-in at a known service creates the \
                rules for its hosts automatically.
                """,
            subcommands: [
                RuleAddCommand<App>.self, RuleListCommand<App>.self, RuleRemoveCommand<App>.self,
                RuleWhichCommand<App>.self,
            ])
    }
}

struct RuleAddCommand<App: AccountApplication>: AccountSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "add", abstract: "Allow other programs to use a session at a URL and below it.",
            discussion: """
                Without --session, the rule is for the current session. The rule replaces a rule for the same URL, user \
                name and directory. It allows the token of the current sign-in: after a sign-in to the session at \
                another service or for another API, programs get no token at the URL.

                  \(CommandLine.toolName) rule add https://git.example.com --session work
                """)
    }

    @OptionGroup var place: RulePlace

    @OptionGroup(title: "Common options") var options: CommonOptions

    func run(in context: CommandContext<App>) async throws {
        if let username = place.username, !Rule.isUsername(username) {
            throw AccountError(
                .invalidArgument,
                "--username must not contain colons or control characters, or exceed 255 bytes")
        }
        var rule = Rule(
            url: try place.ruleURL(for: "rule add"), session: context.session, username: place.username,
            directory: try place.directory.map { path throws(AccountError) in try RulePlace.existing(path) })
        // Without a readable account, the next sign-in sets the sign-in of the rule.
        rule.signIn = await context.ruledAccount(of: rule.session).flatMap { RuleSignIn(of: $0, at: rule.url) }
        let replaced = try await context.preferences.changeRules { [rule] in $0.add(rule) }
        if options.json { return try JSONDocument.print(RuleDocument(rule)) }
        let previous = replaced.map { $0.session == rule.session ? "" : ", and no longer session \($0.session)" } ?? ""
        Terminal.say(.success, "Programs use session \(rule.session) at \(rule.text)\(previous).")
        // If the store is unreachable, omit this note: the rule is already saved.
        if let sessions = try? await context.sessions(), !sessions.contains(rule.session) {
            let login = context.hint(for: rule.session).command("login")
            Terminal.say(nil, "No user is signed in to that session yet: run `\(login)`.")
        }
    }
}

struct RuleListCommand<App: AccountApplication>: AccountSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "list", abstract: "List the rules.", discussion: "  \(CommandLine.toolName) rule list")
    }

    @OptionGroup(title: "Common options") var options: CommonOptions

    func run(in context: CommandContext<App>) async throws {
        let session = try options.session.map(SessionName.init)
        let rules = try context.preferences.rules().sorted.filter { session == nil || $0.session == session }
        if options.json { return try JSONDocument.print(["rules": rules.map(RuleDocument.init)]) }
        guard !rules.isEmpty else {
            let (place, add) = (
                session.map { " for session \($0)" } ?? "", context.hint.command("rule add https://git.example.com")
            )
            return Terminal.say(
                nil,
                "There are no rules\(place), so other programs get no tokens. Add one with `\(add)`.")
        }
        try Terminal.printTable(
            ["SESSION", "URL", "USER NAME", "DIRECTORY"],
            rules.map { [$0.session.rawValue, $0.url.description, $0.username ?? "-", $0.directory ?? "-"] })
    }
}

struct RuleRemoveCommand<App: AccountApplication>: AccountSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "remove", abstract: "Remove the rules for a URL, without signing out.",
            discussion: """
                With --session, --username or --directory, removes only the matching rules.

                  \(CommandLine.toolName) rule remove https://git.example.com
                """)
    }

    @OptionGroup var place: RulePlace

    @OptionGroup(title: "Common options") var options: CommonOptions

    func run(in context: CommandContext<App>) async throws {
        let url = try place.ruleURL(for: "rule remove")
        let session = try options.session.map(SessionName.init)
        // The directory may no longer exist.
        let directory = place.directory.map(RulePlace.absolute)
        let removed = try await context.preferences.changeRules { [place] rules in
            rules.remove { rule in
                rule.url == url && (session == nil || rule.session == session)
                    && (place.username == nil || rule.username == place.username)
                    && (directory == nil || rule.directory == directory)
            }
        }
        guard !removed.isEmpty else {
            throw AccountError(
                .invalidArgument,
                "no matching rule for \(url)", hint: "run `\(context.tool) rule list` to see all rules")
        }
        if options.json { return try JSONDocument.print(["removed": removed.map(RuleDocument.init)]) }
        for rule in removed {
            Terminal.say(nil, "Programs no longer use session \(rule.session) at \(rule.text).")
        }
    }
}

struct RuleWhichCommand<App: AccountApplication>: AccountSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "which", abstract: "Print which session other programs use at a URL.",
            discussion: """
                Exits with 1 if there is no rule, and with 78 if the session now has the token of another sign-in; then \
                programs get no token. The result applies to the current \
                directory, unless --directory specifies another.

                  \(CommandLine.toolName) rule which https://git.example.com
                """)
    }

    @OptionGroup var place: RulePlace

    @OptionGroup(title: "Common options") var options: CommonOptions

    private struct Document: Encodable {
        var url: String
        var rule: RuleDocument?
    }

    func run(in context: CommandContext<App>) async throws {
        let url = try place.ruleURL(for: "rule which")
        let directory = try place.directory.map { path throws(AccountError) in try RulePlace.existing(path) }
        let rule = try context.preferences.rules().rule(for: url, username: place.username) {
            directory ?? WorkingDirectory.path
        }
        var problem: AccountError?
        if let rule, let account = await context.ruledAccount(of: rule.session) {
            do throws(AccountError) {
                try rule.checkSignIn(of: account, context.hint)
            } catch {
                problem = error
            }
        }
        if options.json {
            try JSONDocument.print(Document(url: url.description, rule: rule.map(RuleDocument.init)))
        } else if let rule {
            try Terminal.printLine(rule.session.rawValue)
        } else {
            let add = context.hint.command("rule add \(url.origin)")
            Terminal.say(
                nil, "No rule for \(url), so programs get no token for it. Add one with `\(add)`.")
        }
        if let problem { throw problem }
        if rule == nil { throw ExitCode.failure }
    }
}

struct RuleDocument: Encodable {
    var url: String
    var session: String
    var username: String?
    var directory: String?
    var issuer: String?
    var resource: String?

    init(_ rule: Rule) {
        url = rule.url.description
        session = rule.session.rawValue
        username = rule.username
        directory = rule.directory
        issuer = rule.signIn?.issuer
        resource = rule.signIn?.resource
    }
}

extension CommandContext {
    /// Returns the account of a session without asking a question; `nil` if no user is signed in, or if the archive cannot be
    /// read.
    func ruledAccount(of session: SessionName) async -> Account? {
        try? await archive(of: session, isInteractive: false).load().account
    }
}

extension Rule {
    fileprivate var text: String {
        url.description + (username.map { " as \($0)" } ?? "") + (directory.map { " in \($0)" } ?? "")
    }
}
