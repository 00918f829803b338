import AccountCommands
import AccountKit

/// The environment in which to check the settings of other programs.
struct ProgramSurroundings {
    /// The name of these commands on the command line.
    var tool: String

    var rules: RuleSet

    /// Returns whether a program is installed, by its path or by its name in `$PATH`.
    var isInstalled: (String) -> Bool

    /// Returns whether a rule covers a URL or a part of it, in at least one folder.
    func hasRule(for url: RuleURL) -> Bool {
        rules.rules.contains { $0.url.covers(url) || url.covers($0.url) }
    }
}
