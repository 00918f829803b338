import AccountKit
import ArgumentParser

extension AccountCommand {
    /// Runs the process's command line as the stand-alone tool, and ends the process.
    package static func runProcess() -> Never {
        runTool { arguments in
            var arguments = arguments
            // Docker runs the program of this name, which is a link.
            if CommandLine.dockerHelperName(of: CommandLine.arguments) != nil {
                arguments.insert("docker-credential", at: 0)
            }
            try checkHelp(arguments)
            // Without a cast, since looking up a conformance takes as many instructions as `whoami --offline`.
            if var command = parsedAlone(arguments) { return try await command.run() }
            try await run(asyncParseAsRoot(arguments))
        }
    }

    /// Throws an error for `help` about an unknown command. The parser would show the help of the parent command.
    static func checkHelp(_ arguments: [String]) throws {
        guard arguments.first == "help" else { return }
        var subcommands = Self.configuration.subcommands
        for (index, word) in arguments.dropFirst().enumerated() where !word.hasPrefix("-") {
            let named = subcommands.first {
                $0.configuration.commandName == word || $0.configuration.aliases.contains(word)
            }
            guard let named else {
                if index == 0, word == "help" { continue }
                let names = subcommands.filter { $0.configuration.shouldDisplay }
                    .compactMap { $0.configuration.commandName }
                throw ValidationError(Suggestion.text(for: word, among: names))
            }
            subcommands = named.configuration.subcommands
        }
    }

    /// Parses the subcommand that the first word names, without building the whole tree of commands, which takes longer than most commands.
    ///
    /// The commands that scripts call most have a `_superCommandName`: with it, the parser does not look for a request
    /// for a completion script, which only the whole tree can answer.
    ///
    /// - Returns: `nil` for everything else, such as `--help` and mistakes, which need the whole tree.
    static func parsedAlone(_ arguments: [String]) -> (any AsyncParsableCommand)? {
        // Prompts and scripts run these often, and parsing would take longer than the rest of the command.
        switch arguments {
        case ["whoami"], ["whoami", "--offline"]: return WhoAmICommand<App>(offline: arguments.count > 1)
        case ["token"]: return TokenCommand<App>(minValidity: nil)
        default: break
        }
        if arguments.count == 2, !arguments[1].hasPrefix("-") {
            if arguments[0] == "git-credential" { return GitCredentialCommand<App>(operation: arguments[1]) }
            if arguments[0] == "docker-credential" { return DockerCredentialCommand<App>(action: arguments[1]) }
        }
        guard let name = arguments.first,
            let subcommand = subcommands.first(where: { $0.configuration.commandName == name }),
            // The whole tree fails for the same reason, and reports it.
            let command = try? subcommand.parseAsRoot(Array(arguments.dropFirst())), type(of: command) == subcommand
        else { return nil }
        return command as? any AsyncParsableCommand
    }
}
