import AccountKit

/// What the settings of other programs are held against.
struct ProgramSurroundings {
    /// What a person types for these commands.
    var tool: String

    var rules: RuleSet

    /// Whether there is a program, by its path or as a name in `$PATH`.
    var isInstalled: (String) -> Bool

    /// Whether programs get a token there, in some folder at least.
    func hasRule(for url: RuleURL) -> Bool {
        rules.rules.contains { $0.url.covers(url) || url.covers($0.url) }
    }
}
