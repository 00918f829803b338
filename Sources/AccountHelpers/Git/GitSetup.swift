import AccountCommands
import AccountKit
import AccountSupport

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The programs that git asks for credentials (gitcredentials(7)).
struct GitSetup {
    struct Helper: Equatable {
        /// The URL that the helper is for; `nil` for any.
        var url: String?

        var command: String
    }

    private(set) var helpers: [Helper] = []

    /// The URLs for which git sends the path (`useHttpPath`); `nil` for any.
    private(set) var urlsWithPath: Set<String?> = []

    /// The arguments that run `git config` in the root folder, to ignore the settings of a repository.
    static let arguments = ["-C", "/", "config", "-z", "--get-regexp", #"^credential\.(.*\.)?(helper|usehttppath)$"#]

    /// - Parameter output: The output of `git config -z`: for each setting its name, a newline, its value and a NUL.
    init(_ output: String) {
        for setting in output.split(separator: "\0") {
            let lines = setting.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
            let name = lines[0].split(separator: ".", omittingEmptySubsequences: false)
            let url = name.count > 2 ? name[1..<(name.count - 1)].joined(separator: ".") : nil
            let command = lines.count > 1 ? String(lines[1]) : ""
            if name.last != "helper" {
                // A name without a value means true.
                let isTrue = lines.count == 1 || ["true", "yes", "on", "1"].contains(command.lowercased())
                if isTrue { urlsWithPath.insert(url) } else { urlsWithPath.remove(url) }
            } else if command.isEmpty {
                // An empty helper resets the list before it.
                helpers.removeAll { $0.url == url }
            } else {
                helpers.append(Helper(url: url, command: command))
            }
        }
    }

    /// Returns the program in the command line of a helper, as configured; `nil` if the helper does not run the
    /// subcommand of `tool`. The program may be another one; see ``ToolProgram``.
    static func program(of command: String, for tool: String) -> String? {
        let text = parts(of: command).command
        let subcommand = subcommand(of: tool)
        guard text.hasSuffix(" " + subcommand) else { return nil }
        return String(text.dropLast(subcommand.count + 1))
    }

    /// Returns the subcommand that git runs: `git-credential`, or `account git-credential` for the tool `gists account`.
    static func subcommand(of tool: String) -> String {
        (tool.split(separator: " ").dropFirst() + ["git-credential"]).joined(separator: " ")
    }

    /// Returns the value of `--store` in the command line of a helper; `nil` for the store in the environment.
    static func store(of command: String) -> String? { parts(of: command).store }

    /// Returns the command line of a helper without quotation marks and without `--store` and everything after it.
    private static func parts(of command: String) -> (command: String, store: String?) {
        let text = String(command.drop { $0 == "!" || $0 == " " }.filter { $0 != "\"" && $0 != "'" })
        guard let option = text.firstRange(of: " --store=") ?? text.firstRange(of: " --store ") else {
            return (text, nil)
        }
        // Locations contain no spaces.
        return (String(text[..<option.lowerBound]), String(text[option.upperBound...].prefix { $0 != " " }))
    }

    func findings(_ surroundings: ProgramSurroundings) -> [Finding] {
        let tool = surroundings.tool
        let own = helpers.compactMap { helper in Self.program(of: helper.command, for: tool).map { (helper, $0) } }
            .filter { surroundings.program.isRun(by: $0.1) || surroundings.program.isGone($0.1) }
        guard !own.isEmpty else {
            return [
                Finding(
                    problem: "git does not ask this tool for tokens",
                    advice: ": run `git config --global --add credential.helper '!\(tool) git-credential'`",
                    isNote: true, missingProgram: "git")
            ]
        }
        var findings: [Finding] = []
        for (helper, program) in own {
            guard surroundings.isInstalled(program) else {
                findings.append(
                    Finding(
                        problem: "git asks \(program.shown) for tokens, but that program does not exist",
                        advice: ": correct the path with `git config --global --edit`"))
                continue
            }
            guard let url = helper.url else {
                findings.append(
                    Finding(problem: "git asks this tool for tokens at every URL that has a rule", isNote: true))
                if surroundings.rules.rules.isEmpty { findings.append(Self.withoutRules(tool)) }
                continue
            }
            // git supports patterns, such as https://*.example.com, that rules don't.
            if let ruled = try? RuleURL(url), !url.contains("*"), !surroundings.hasRule(for: ruled) {
                findings.append(
                    Finding(
                        problem: "git asks this tool for tokens at \(ruled), which has no rule",
                        advice: ": add one with `\(tool) rule add \(ruled)`"))
            } else {
                // Remove the user information: the URL of another helper may contain a password.
                let shown = (url.lastIndex(of: "@").map { url[url.index(after: $0)...] } ?? url[...])
                findings.append(
                    Finding(problem: "git asks this tool for tokens at \(String(shown).shown)", isNote: true))
            }
        }
        return findings + pathFindings(surroundings)
    }

    private func pathFindings(_ surroundings: ProgramSurroundings) -> [Finding] {
        let untold = surroundings.rules.sorted.map(\.url).filter { url in
            !url.path.isEmpty
                && !urlsWithPath.contains { setting in
                    guard let setting else { return true }
                    // Ignore a pattern or the URL of another protocol: it covers no rule.
                    return (try? RuleURL(setting))?.covers(url) ?? false
                }
        }
        return Set(untold.map(\.origin)).sorted().map { origin in
            Finding(
                problem: "git does not send the path to \(origin), but there are rules for paths there",
                advice: ": run `git config --global credential.\(origin).useHttpPath true`", isNote: true)
        }
    }

    private static func withoutRules(_ tool: String) -> Finding {
        Finding(
            problem: "there are no rules, so git gets no token",
            advice: ": add one with `\(tool) rule add https://git.example.com`", isNote: true)
    }
}
