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
                nothing. With --print, it only shows the change. The program gets tokens only for URLs that have a \
                rule; see `\(CommandLine.toolName) rule`.

                  \(CommandLine.toolName) setup git
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
            "Registries for docker (default: those with a rule), or the URL of an MCP server.", valueName: "place"))
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

    @Option(help: "Session for kubectl (default: the one of the rule).")
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
        if session != nil, program != .kubectl { throw ValidationError("--session is for `setup kubectl`") }
        switch program {
        case .git, .kubectl:
            if !places.isEmpty { throw ValidationError("`setup \(program.rawValue)` takes no URL") }
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
            let outcome: SetupOutcome
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
                outcome = try DockerChange(tool: context.tool, registries: try registries(context))
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
                if !remove, let url { explainRule(url, context) }
            }
            try report(outcome)
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
            .map { String($0.origin.drop { $0 != "/" }.dropFirst(2)) }
        let registries = hosts.filter { $0 == "ghcr.io" || $0.hasPrefix("registry.") }
        guard !registries.isEmpty else {
            throw AccountError(
                .invalidArgument, "specify the registries, such as `\(context.tool) setup docker ghcr.io`")
        }
        return registries
    }

    private func explainRule(_ url: RequestURL, _ context: CommandContext<App>) {
        do {
            _ = try url.rule(in: context.preferences)
        } catch {
            Terminal.say("\(context.tool): \(error)")
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
