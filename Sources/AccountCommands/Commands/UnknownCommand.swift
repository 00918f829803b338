import AccountSupport
import ArgumentParser

/// Runs if the first word is not a subcommand: moves common options after the subcommand, suggests a similar command, or
/// shows the help.
struct UnknownCommand<App: AccountApplication>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: "unknown-subcommand", shouldDisplay: false, helpNames: [])
    }

    @Argument(parsing: .allUnrecognized, help: .hidden)
    var words: [String] = []

    func run() async throws {
        // The parser drops `--` from the words.
        let arguments = Array(CommandLine.arguments.drop { $0 != words.first })
        if let moved = Self.movingCommonOptions(arguments) {
            return try await Self.run(AccountCommand<App>.asyncParseAsRoot(moved))
        }
        guard let word = words.first(where: { !$0.hasPrefix("-") }) else {
            guard let option = words.first else { throw CleanExit.helpRequest(AccountCommand<App>.self) }
            throw ValidationError("Unknown option '\(option.shown)'")
        }
        let subcommands = AccountCommand<App>.configuration.subcommands
        if subcommands.contains(where: { $0.configuration.shouldDisplay && $0.configuration.commandName == word }) {
            let others = words.filter { $0 != word }.map(\.shown).joined(separator: " ")
            throw ValidationError(
                "this option belongs after the subcommand", hint: "run `\(CommandLine.toolName) \(word) \(others)`")
        }
        throw Suggestion.unknownSubcommand(word, among: subcommands)
    }

    /// Moves common options from before the subcommand to after it, so that `--session work key add` becomes `key add
    /// --session work`.
    ///
    /// - Returns: `nil` if the arguments are not common options followed by a subcommand.
    static func movingCommonOptions(_ arguments: [String]) -> [String]? {
        var options: [String] = []
        var rest = arguments[...]
        while let word = rest.first, word.hasPrefix("-") {
            let count: Int
            switch word {
            case "--json", "--verbose", "-v": count = 1
            case _ where word.hasPrefix("--session=") || word.hasPrefix("--store="): count = 1
            case "--session", "--store": count = 2
            default: return nil
            }
            options += rest.prefix(count)
            rest = rest.dropFirst(count)
        }
        rest = GivenArguments.current(rest)[...]
        var path: [String] = []
        var commands = AccountCommand<App>.configuration.subcommands
        while let word = rest.first,
            let named = commands.first(where: { $0.configuration.commandName == word && $0.configuration.shouldDisplay }
            )
        {
            path.append(word)
            rest = rest.dropFirst()
            commands = named.configuration.subcommands
        }
        return options.isEmpty || path.isEmpty ? nil : path + options + rest
    }
}
