import AccountKit
import ArgumentParser

extension AccountCommand {
    package static func runProcess() -> Never {
        runTool(
            signIn: "\(CommandLine.toolName) login", orReplaceTokenIn: App.replacingTokenVariable, isAccount: true
        ) { arguments in
            var arguments = arguments
            // Docker runs this program through a link, such as `docker-credential-account`.
            if CommandLine.dockerHelperName(of: CommandLine.arguments) != nil {
                arguments.insert("docker-credential", at: 0)
            }
            // Avoid a cast: it searches for a conformance, which takes as many instructions as all of `whoami --offline`.
            if var command = parsedAlone(arguments) { return try await command.run() }
            try await run(asyncParseAsRoot(arguments))
        }
    }

    /// Parses only the subcommand that the first word names, because building the whole command tree is slow. Returns
    /// `nil` for input that requires the whole tree, such as `--help` and invalid options. With a `_superCommandName`,
    /// the parser does not check for a request for a completion script.
    static func parsedAlone(_ arguments: [String]) -> (any AsyncParsableCommand)? {
        if let command = parsedWithoutParser(arguments) { return command }
        for group in App.commandGroups {
            if let command = group.parsedAlone(arguments) { return command }
        }
        // Use a table: comparing the names of commands in order would create the help texts of all commands before the
        // match.
        let frequent: [String: any AsyncParsableCommand.Type] = [
            "token": TokenCommand<App>.self, "whoami": WhoAmICommand<App>.self, "refresh": RefreshCommand<App>.self,
        ]
        guard let name = arguments.first,
            let subcommand = frequent[name]
                ?? groups.lazy.flatMap(\.subcommands).first(where: { $0.configuration.commandName == name })
        else { return nil }
        return parsedAlone(Array(arguments.dropFirst()), as: subcommand)
    }

    /// Reads a command that shell prompts and scripts run often, since parsing would take longer than the rest of the command.
    static func parsedWithoutParser(_ arguments: [String]) -> (any AsyncParsableCommand)? {
        let words = arguments.dropFirst()
        return switch arguments.first {
        case "whoami": WhoAmICommand<App>(plain: words)
        case "token": TokenCommand<App>(plain: words)
        case "refresh": RefreshCommand<App>(plain: words)
        default: nil
        }
    }

    /// Returns `nil` if the arguments name a nested subcommand or are not valid: parsing with the whole tree then fails for
    /// the same reason, and reports the error.
    private static func parsedAlone<Command: AsyncParsableCommand>(
        _ arguments: [String], as type: Command.Type
    ) -> (any AsyncParsableCommand)? {
        try? type.parseAsRoot(arguments) as? Command
    }
}
