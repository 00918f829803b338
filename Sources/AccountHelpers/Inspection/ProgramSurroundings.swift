import AccountCommands
import AccountKit

struct ProgramSurroundings {
    var tool: String

    var rules: RuleSet

    var isInstalled: (String) -> Bool

    /// Returns whether a rule covers a URL or a part of it, in at least one folder.
    func hasRule(for url: RuleURL) -> Bool {
        rules.rules.contains { $0.url.covers(url) || url.covers($0.url) }
    }
}
