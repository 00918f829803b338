import AccountKit

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Which programs git asks for credentials (gitcredentials(7)).
struct GitSetup {
    struct Helper: Equatable {
        /// The URL that it is for; `nil` is any.
        var url: String?

        /// As it stands in git's configuration.
        var command: String
    }

    private(set) var helpers: [Helper] = []

    /// The URLs for which git says which path it is about (`useHttpPath`); `nil` is any.
    private(set) var urlsWithPath: Set<String?> = []

    /// For `git config`: what to print. From the root folder, since a repository's own settings are its own affair.
    static let arguments = ["-C", "/", "config", "-z", "--get-regexp", #"^credential\.(.*\.)?(helper|usehttppath)$"#]

    /// - Parameter output: What `git config -z` prints: for each setting its name, a newline, its value and a NUL.
    init(_ output: String) {
        for setting in output.split(separator: "\0") {
            let lines = setting.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
            let name = lines[0].split(separator: ".", omittingEmptySubsequences: false)
            let url = name.count > 2 ? name[1..<(name.count - 1)].joined(separator: ".") : nil
            let command = lines.count > 1 ? String(lines[1]) : ""
            if name.last != "helper" {
                // A name alone means true.
                let isTrue = lines.count == 1 || ["true", "yes", "on", "1"].contains(command.lowercased())
                if isTrue { urlsWithPath.insert(url) } else { urlsWithPath.remove(url) }
            } else if command.isEmpty {
                // An empty one makes git forget those before it.
                helpers.removeAll { $0.url == url }
            } else {
                helpers.append(Helper(url: url, command: command))
            }
        }
    }

    /// The program of a helper that asks these commands, as it stands there; `nil` for another helper.
    ///
    /// - Parameter tool: What a person types for these commands.
    static func program(of command: String, for tool: String) -> String? {
        let words = tool.split(separator: " ")
        let text = command.drop { $0 == "!" || $0 == " " }.filter { $0 != "\"" && $0 != "'" }
        let subcommand = (words.dropFirst() + ["git-credential"]).joined(separator: " ")
        guard text == "\(words[0]) \(subcommand)" || text.hasSuffix("/\(words[0]) \(subcommand)") else { return nil }
        return String(text.dropLast(subcommand.count + 1))
    }

    func findings(_ surroundings: ProgramSurroundings) -> [Finding] {
        let tool = surroundings.tool
        let own = helpers.compactMap { helper in Self.program(of: helper.command, for: tool).map { (helper, $0) } }
        guard !own.isEmpty else {
            return [
                Finding(
                    problem: "git does not ask this tool for tokens",
                    advice: ": `git config --global --add credential.helper '!\(tool) git-credential'` changes that",
                    isNote: true)
            ]
        }
        var findings: [Finding] = []
        for (helper, program) in own {
            guard surroundings.isInstalled(program) else {
                findings.append(
                    Finding(
                        problem: "git asks \(program.shown) for tokens, and there is no such program",
                        advice: ": put the path right, with `git config --global --edit`"))
                continue
            }
            guard let url = helper.url else {
                findings.append(
                    Finding(problem: "git asks this tool for tokens, at every URL that has a rule", isNote: true))
                if surroundings.rules.rules.isEmpty { findings.append(Self.withoutRules(tool)) }
                continue
            }
            // git has patterns, such as https://*.example.com, that rules have not.
            if let ruled = try? RuleURL(url), !url.contains("*"), !surroundings.hasRule(for: ruled) {
                findings.append(
                    Finding(
                        problem: "git asks this tool for tokens at \(ruled), which has no rule",
                        advice: ": add one with `\(tool) rule add \(ruled)`"))
            } else {
                // Another's URL may have a password in it.
                let shown = (url.lastIndex(of: "@").map { url[url.index(after: $0)...] } ?? url[...])
                findings.append(
                    Finding(problem: "git asks this tool for tokens at \(String(shown).shown)", isNote: true))
            }
        }
        return findings + pathFindings(surroundings)
    }

    /// Rules for paths are of no use to git where it does not say which path it is about.
    private func pathFindings(_ surroundings: ProgramSurroundings) -> [Finding] {
        let untold = surroundings.rules.sorted.map(\.url).filter { url in
            !url.path.isEmpty
                && !urlsWithPath.contains { setting in
                    guard let setting else { return true }
                    // A pattern, or another protocol's URL, covers none of a rule.
                    return (try? RuleURL(setting))?.covers(url) ?? false
                }
        }
        return Set(untold.map(\.origin)).sorted().map { origin in
            Finding(
                problem: "git does not say which path it is about at \(origin), and there are rules for paths there",
                advice: ": `git config --global credential.\(origin).useHttpPath true` changes that", isNote: true)
        }
    }

    private static func withoutRules(_ tool: String) -> Finding {
        Finding(
            problem: "there are no rules, so git gets no token",
            advice: ": add one with `\(tool) rule add https://git.example.com`", isNote: true)
    }
}
