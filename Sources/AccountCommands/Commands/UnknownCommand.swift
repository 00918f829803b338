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
        let names = AccountCommand<App>.configuration.subcommands.filter { $0.configuration.shouldDisplay }
            .compactMap { $0.configuration.commandName }
        if names.contains(word) {
            let others = words.filter { $0 != word }.map(\.shown).joined(separator: " ")
            throw ValidationError("write this option after the subcommand: `\(CommandLine.toolName) \(word) \(others)`")
        }
        throw ValidationError(Suggestion.text(for: word, among: names))
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

enum Suggestion {
    /// Names that other tools use for these commands.
    private static let synonyms = [
        "signin": "login", "sign-in": "login", "auth": "login", "signout": "logout", "sign-out": "logout",
        "logoff": "logout", "user": "whoami", "me": "whoami", "list": "sessions", "accounts": "sessions",
        "profiles": "sessions", "use": "switch", "keys": "key", "rules": "rule", "env": "exec", "run": "exec",
    ]

    package static func text(for word: String, among names: [String]) -> String {
        let synonym = synonyms[word.lowercased()].flatMap { names.contains($0) ? $0 : nil }
        let meant = (synonym ?? nearest(to: word, among: names)).map { ". Did you mean '\($0)'?" } ?? ""
        return "Unknown subcommand '\(word.shown)'" + meant
    }

    static func nearest(to word: String, among names: [String]) -> String? {
        let word = word.lowercased()
        let distances = names.map { ($0, distance($0, word)) }
        if let best = distances.min(by: { $0.1 < $1.1 }), best.1 <= max(1, min(best.0.count, word.count) / 3) {
            return best.0
        }
        return word.count < 3 ? nil : names.first { $0.hasPrefix(word) || word.hasPrefix($0) }
    }

    /// Computes the optimal string alignment distance: insertions, deletions, substitutions and transpositions.
    static func distance(_ left: String, _ right: String) -> Int {
        let (left, right) = (Array(left), Array(right))
        var rows = [Array(0...right.count)]
        for i in left.indices {
            var row = [i + 1]
            for j in right.indices {
                var cost = min(rows[i][j] + (left[i] == right[j] ? 0 : 1), rows[i][j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] {
                    cost = min(cost, rows[i - 1][j - 1] + 1)
                }
                row.append(cost)
            }
            rows.append(row)
        }
        return rows[left.count][right.count]
    }
}
