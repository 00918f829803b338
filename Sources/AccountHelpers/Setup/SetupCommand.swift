import AccountCommands
import AccountKit
import AccountSupport
import ArgumentParser

/// A program that `setup` configures.
enum SetupProgram: String, ExpressibleByArgument, CaseIterable {
    case git, docker, kubectl, mcp
}

struct SetupCommand<App: AccountApplication>: ContextCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "setup", abstract: "Make another program use your sessions, or undo that.",
            discussion: """
                Changes the configuration of git, docker or kubectl, or of an MCP client. Running it again changes \
                nothing. With --print, it only shows the change. Then the command finds out what the program does \
                with its configuration, and reports what prevents it from getting a token. The program gets tokens \
                only for URLs that have a rule; see `\(CommandLine.toolName) rule`. On a terminal, the command offers \
                to add a missing rule.

                  \(CommandLine.toolName) setup git
                  \(CommandLine.toolName) setup git https://git.example.com --add-rule --session work
                  \(CommandLine.toolName) setup docker ghcr.io
                  \(CommandLine.toolName) setup kubectl --session work
                  \(CommandLine.toolName) setup mcp https://api.example.com/mcp --file ~/.cursor/mcp.json
                  \(CommandLine.toolName) setup --remove git
                """)
    }

    @Argument(help: "Program to configure.")
    var program: SetupProgram

    @Argument(
        help: ArgumentHelp(
            "URLs for git, registries for docker (default for both: those with a rule), or the URL of an MCP server.",
            valueName: "place"))
    var places: [String] = []

    @Flag(help: "Show the change without making it.")
    var print = false

    @Flag(help: "Undo the change, without removing entries that setup did not write.")
    var remove = false

    @Option(
        help: ArgumentHelp("Configuration file of the MCP client; without it, print the entry.", valueName: "path"),
        completion: .file())
    var file: String?

    @Option(
        help: ArgumentHelp(
            "Name of the user in the kubeconfig (default: account), or of the MCP server (default: its host).",
            valueName: "name"))
    var name: String?

    @Flag(help: "Also add the rule that the program needs, without asking.")
    var addRule = false

    @Option(help: "Session for kubectl (default: the one of the rule), or for --add-rule.")
    var session: String?

    @OptionGroup var helper: HelperOptions

    var options: CommonOptions {
        var options = helper.common
        options.session = session
        return options
    }

    func validate() throws {
        if file != nil, program != .mcp { throw ValidationError("--file is for `setup mcp`") }
        if name != nil, program == .git || program == .docker {
            throw ValidationError("--name is for `setup kubectl` and `setup mcp`")
        }
        if session != nil, program != .kubectl, !addRule {
            throw ValidationError("--session is for `setup kubectl` and --add-rule")
        }
        if addRule, print || remove { throw ValidationError("--add-rule cannot be used with --print or --remove") }
        switch program {
        case .git:
            if remove, !places.isEmpty { throw ValidationError("`setup --remove git` takes no URL") }
        case .kubectl:
            if !places.isEmpty { throw ValidationError("`setup kubectl` takes no URL") }
        case .mcp:
            if remove, file == nil { throw ValidationError("specify the file of the MCP client with --file") }
            if places.count > 1 || places.isEmpty && !remove {
                throw ValidationError("specify the URL of one MCP server")
            }
        case .docker: break
        }
    }

    func run() async throws {
        try await perform({ try CommandContext(options, isInteractive: false) }) { context in
            let words = context.tool.split(separator: " ").map(String.init)
            let gitURLs =
                program == .git
                ? try places.map { text throws(AccountError) in try RequestURL(text).ruled } : []
            let outcome: SetupOutcome
            var registries: [String] = []
            switch program {
            case .git:
                outcome = try await GitChange(tool: context.tool, store: helper.store)
                    .apply(removing: remove, onlyPrinting: print)
            case .docker:
                guard words.count == 1 else {
                    throw AccountError(
                        .invalidArgument, "docker runs programs named docker-credential-NAME, not a subcommand",
                        hint: "use the account command for docker")
                }
                guard helper.store == nil || remove else {
                    throw AccountError(
                        .invalidArgument, "docker runs \(words[0])'s helper without options, so it cannot pass --store",
                        hint: "omit --store, and set \(App.environmentPrefix)_STORE where docker runs")
                }
                registries = try self.registries(context)
                outcome = try DockerChange(tool: context.tool, registries: registries)
                    .apply(removing: remove, onlyPrinting: print)
            case .kubectl:
                outcome = try await KubeChange(
                    tool: words, user: name ?? "account",
                    session: try session.map(SessionName.init)?.rawValue, store: helper.store
                ).apply(removing: remove, onlyPrinting: print)
            case .mcp:
                let url = try places.first.map { text throws(AccountError) in try RequestURL(text) }
                outcome = try MCPChange(tool: words, url: url, name: name, store: helper.store, file: file)
                    .apply(removing: remove, onlyPrinting: print)
                if !remove, !addRule, let url, print || file == nil { explainRule(url, context) }
            }
            try report(outcome)
            guard !print else { return }
            if !remove {
                let urls: [RuleURL] =
                    switch program {
                    case .git: gitURLs
                    case .docker: registries.compactMap { DockerRegistry($0) }.compactMap(\.ruleURL)
                    case .kubectl: await servers().compactMap { try? RuleURL($0) }
                    case .mcp: try places.compactMap { text throws(AccountError) in try RequestURL(text).ruled }
                    }
                try await addRules(for: urls, context)
            }
            try await reportBehavior(context, gitURLs)
        }
    }

    /// Adds missing rules, if the user wants that.
    ///
    /// - Parameter urls: The URLs at which the program needs a token.
    private func addRules(for urls: [RuleURL], _ context: CommandContext<App>) async throws {
        let rules = try context.preferences.rules()
        let isAsking = !addRule && Terminal.canAsk
        guard addRule || isAsking else { return }
        for url in urls where !isRuled(url, rules) {
            if isAsking {
                let question = "There is no rule for \(url). Send the token of session \(context.session) there? [y/N] "
                guard try Terminal.confirms(question) else { continue }
            }
            var rule = Rule(url: url, session: context.session)
            rule.signIn = await context.ruledAccount(of: rule.session).flatMap { RuleSignIn(of: $0, at: url) }
            _ = try await context.preferences.changeRules { [rule] in $0.add(rule) }
            Terminal.say(.success, "Programs use session \(rule.session) at \(rule.url).")
        }
    }

    private func isRuled(_ url: RuleURL, _ rules: RuleSet) -> Bool {
        // docker accepts a rule for each host of Docker Hub, and for `http` on this machine.
        let urls = program == .docker ? DockerCredential.urls(of: url.authority) : [url]
        return rules.rules.contains { rule in urls.contains { rule.url.covers($0) } }
    }

    /// Returns the servers that ask for the token of kubectl's user.
    private func servers() async -> [String] {
        guard let view = await KubeView.read() else { return [] }
        return view.servers(of: name ?? "account")
    }

    /// Reports what the program does now. `doctor` reports the same.
    private func reportBehavior(_ context: CommandContext<App>, _ gitURLs: [RuleURL]) async throws {
        var findings = try await ProgramInspection(context: context).findings(of: program, file: file)
        if program == .git, !remove {
            let rules = try context.preferences.rules()
            findings += gitURLs.filter { !isRuled($0, rules) }.map { url in
                Finding(
                    problem: "there is no rule for \(url), so git gets no token for it",
                    advice: ": add one with `\(context.tool) rule add \(url)`")
            }
        }
        // After a removal, only what remains matters.
        if remove { findings = findings.filter(\.isNote) }
        for finding in findings.filter({ !$0.isNote }) + findings.filter(\.isNote) {
            let line = finding.problem + finding.advice + "."
            Terminal.say(finding.isNote ? nil : .warning, StyledText(line.prefix(1).uppercased() + line.dropFirst()))
        }
    }

    private func report(_ outcome: SetupOutcome) throws {
        switch outcome {
        case .shown(let text): try Terminal.printText(text)
        case .unchanged(let text): Terminal.say(text)
        case .changed(let text): Terminal.say(.success, StyledText(text))
        }
    }

    /// The registries that setup adds or removes; empty for all when removing.
    private func registries(_ context: CommandContext<App>) throws -> [String] {
        guard places.isEmpty, !remove else { return places }
        let hosts = try context.preferences.rules().sorted.map(\.url).filter { $0.path.isEmpty }
            .map(\.authority)
        let registries = hosts.filter { host in
            host == "ghcr.io" || host.hasPrefix("registry.") || DockerRegistry(host)?.isHub == true
        }
        guard !registries.isEmpty else {
            throw AccountError(
                .invalidArgument, "the registries are missing",
                hint: "for example, `\(context.tool) setup docker ghcr.io`")
        }
        return registries
    }

    /// Explains a missing rule.
    private func explainRule(_ url: RequestURL, _ context: CommandContext<App>) {
        do {
            _ = try url.rule(in: context.preferences)
        } catch {
            Terminal.say(AccountError(wrapping: error))
        }
    }
}

extension [String] {
    /// The value of an option in the arguments of a program: `--name=value`, or `--name value`.
    func value(of option: String) -> String? {
        for (index, argument) in enumerated() {
            if argument.hasPrefix(option + "=") { return String(argument.dropFirst(option.count + 1)) }
            if argument == option { return dropFirst(index + 1).first }
        }
        return nil
    }
}

enum SetupOutcome: Equatable {
    /// The change, for standard output.
    case shown(String)
    case changed(String)
    case unchanged(String)
}
