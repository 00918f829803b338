import AccountSupport
import ArgumentParser

/// Runs if no subcommand was named: shows help, or suggests a similar command.
struct UnknownCommand<App: AccountApplication>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: "unknown-subcommand", shouldDisplay: false, helpNames: [])
    }

    @Argument(parsing: .allUnrecognized, help: .hidden)
    var words: [String] = []

    func run() async throws {
        guard let word = words.first(where: { !$0.hasPrefix("-") }) else {
            guard let option = words.first else { throw CleanExit.helpRequest(AccountCommand<App>.self) }
            throw ValidationError("Unknown option '\(option.shown)'")
        }
        let names = AccountCommand<App>.configuration.subcommands.filter { $0.configuration.shouldDisplay }
            .compactMap { $0.configuration.commandName }
        if names.contains(word) {
            let others = words.filter { $0 != word }.map(\.shown).joined(separator: " ")
            throw ValidationError(
                "Options follow the subcommand: `\(CommandLine.toolName) \(word) \(others)`")
        }
        throw ValidationError(Suggestion.text(for: word, among: names))
    }
}

enum Suggestion {
    package static func text(for word: String, among names: [String]) -> String {
        let meant = nearest(to: word, among: names).map { ". Did you mean '\($0)'?" } ?? ""
        return "Unknown subcommand '\(word.shown)'" + meant
    }

    /// Returns the most similar name, if it is similar enough.
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
