import AccountCommands
import AccountKit

struct ProgramSurroundings {
    var tool: String

    var rules: RuleSet

    var isInstalled: (String) -> Bool

    /// Returns whether a path leads to the file of this tool.
    var isSameFile: (String) -> Bool

    /// Returns the path of a program; `nil` if it is not installed.
    var location: (String) -> String? = { _ in nil }

    var program: ToolProgram {
        let name = tool.split(separator: " ").first.map(String.init) ?? tool
        return ToolProgram(name: name, isInstalled: isInstalled, isSameFile: isSameFile)
    }

    /// Returns whether a rule covers a URL or a part of it, in at least one folder.
    func hasRule(for url: RuleURL) -> Bool {
        rules.rules.contains { $0.url.covers(url) || url.covers($0.url) }
    }
}
