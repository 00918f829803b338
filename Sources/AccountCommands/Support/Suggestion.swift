package import ArgumentParser
import AccountSupport

/// Finds the name that the user meant.
package enum Suggestion {
    /// Names that other tools use for these commands.
    private static let synonyms = [
        "signin": "login", "sign-in": "login", "auth": "login", "signout": "logout", "sign-out": "logout",
        "logoff": "logout", "user": "whoami", "me": "whoami", "list": "sessions", "accounts": "sessions",
        "profiles": "sessions", "use": "switch", "keys": "key", "rules": "rule", "env": "exec", "run": "exec",
    ]

    /// Names that other tools use for options of all commands.
    private static let optionSynonyms = ["--profile": "--session", "--account": "--session", "-s": "--session"]

    /// Names that other tools use for options of `login`.
    private static let loginSynonyms = [
        "--token": "--with-token", "--access-token": "--with-token", "--pat": "--with-token", "--browser": "--web",
        "--user": "--username",
    ]

    package static func unknownSubcommand(
        _ word: String, among subcommands: [any ParsableCommand.Type]
    ) -> ValidationError {
        let names = subcommands.filter { $0.configuration.shouldDisplay }.compactMap { $0.configuration.commandName }
        let synonym = synonyms[word.lowercased()].flatMap { names.contains($0) ? $0 : nil }
        let meant = synonym ?? nearest(to: word, among: names)
        return ValidationError(
            "unknown subcommand '\(word.shown)'", hint: meant.map { "did you mean '\($0)'?" })
    }

    /// Returns the option that the user meant.
    ///
    /// - Parameters:
    ///   - similar: The option that the parser regards as similar.
    ///   - isLogin: Whether the command is `login`.
    static func option(for option: String, similar: String?, isLogin: Bool) -> String? {
        let synonym = optionSynonyms[option] ?? (isLogin ? loginSynonyms[option] : nil)
        return synonym ?? similar.flatMap { nearest(to: option, among: [$0]) }
    }

    package static func nearest(to word: String, among names: [String]) -> String? {
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
