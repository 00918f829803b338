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

        /// The name of the setting.
        var setting: String { url.map { "credential.\($0).helper" } ?? "credential.helper" }

        /// The program that git runs; `nil` for other shell commands. The rest of the command may contain a password.
        var program: String? {
            let isCommand = command.hasPrefix("!") || command.hasPrefix("/")
            let name = GitSetup.words(of: command)?.first
            guard let name, !name.contains("=") else { return nil }
            return isCommand ? name : "git-credential-" + name
        }

        /// The helper as text for the user, without parts that may be secret.
        var shown: String {
            // Remove the user information: the URL may contain a password.
            let place = url.map { url in String(url.lastIndex(of: "@").map { url[url.index(after: $0)...] } ?? url[...])
            }
            return (program.map(\.shown) ?? "a shell command") + (place.map { " (for \($0.shown))" } ?? "")
        }
    }

    /// The helpers in the order of git's files. Which of them git asks depends on the URL; see ``GitQuestion``.
    private(set) var helpers: [Helper] = []

    /// All settings of helpers, including the empty ones that discard the helpers before them.
    private(set) var settings: [Helper] = []

    /// The URLs for which git sends the path (`useHttpPath`); `nil` for any.
    private(set) var urlsWithPath: Set<String?> = []

    /// Variables that apply to a single command of git, or to `git config` but not to other commands.
    static let hiddenVariables = ["GIT_DIR", "GIT_WORK_TREE", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS"]

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
            } else {
                let helper = Helper(url: url, command: command)
                settings.append(helper)
                if !command.isEmpty {
                    helpers.append(helper)
                } else if let url {
                    helpers.removeAll { $0.url == url }
                } else {
                    // An empty helper discards all helpers before it, for each URL that its setting is for.
                    helpers = []
                }
            }
        }
    }

    /// Returns the program in the command line of a helper, as configured; `nil` if the helper does not run the
    /// subcommand of `tool`. The program may be another one; see ``ToolProgram``.
    ///
    /// Like git, this passes a command line to the shell if it begins with `!` or is an absolute path. git adds
    /// `git credential-` to any other (gitcredentials(7), "Custom helpers").
    static func program(of command: String, for tool: String) -> String? {
        guard command.hasPrefix("!") || command.hasPrefix("/"), let words = words(of: command),
            let program = words.first
        else { return nil }
        let subcommand = subcommand(of: tool).split(separator: " ").map(String.init)
        let rest = words.dropFirst()
        guard rest.starts(with: subcommand) else { return nil }
        let option = rest.dropFirst(subcommand.count).first
        return option.map { $0 == "--store" || $0.hasPrefix("--store=") } ?? true ? program : nil
    }

    /// Returns the words of a helper's command line as the shell reads them; `nil` if it is more than one simple command.
    static func words(of command: String) -> [String]? {
        var words: [String] = []
        var word: String?
        var quote: Character?
        var isEscaped = false
        for character in command.drop(while: { $0 == "!" }) {
            if isEscaped {
                word = (word ?? "") + String(character)
                isEscaped = false
            } else if character == "\\", quote != "'" {
                isEscaped = true
            } else if let open = quote {
                if character == open { quote = nil } else { word?.append(character) }
                if open == "\"", "$`".contains(character) { return nil }
            } else if character == "'" || character == "\"" {
                quote = character
                word = word ?? ""
            } else if character == " " || character == "\t" {
                if let word { words.append(word) }
                word = nil
            } else if "\n;&|<>()$`#*?[]{}".contains(character) {
                return nil
            } else {
                word = (word ?? "") + String(character)
            }
        }
        guard quote == nil, !isEscaped else { return nil }
        return words + (word.map { [$0] } ?? [])
    }

    /// Returns the subcommand that git runs: `git-credential`, or `account git-credential` for the tool `gists account`.
    static func subcommand(of tool: String) -> String {
        (tool.split(separator: " ").dropFirst() + ["git-credential"]).joined(separator: " ")
    }

    /// Returns the value of `--store` in the command line of a helper; `nil` for the store in the environment.
    static func store(of command: String) -> String? {
        // Locations contain no spaces.
        words(of: command)?.value(of: "--store").map { String($0.prefix { $0 != " " }) }
    }

    /// Returns the findings about the helpers of this tool.
    ///
    /// - Parameter answers: What git does at the URLs with a rule; empty if git was not asked.
    func findings(
        _ surroundings: ProgramSurroundings, answers: [(url: RuleURL, answer: GitQuestion.Answer)] = []
    ) -> [Finding] {
        let tool = surroundings.tool
        let unusable = unusableFindings(surroundings)
        let own = helpers.compactMap { helper in Self.program(of: helper.command, for: tool).map { (helper, $0) } }
            .filter { surroundings.program.isRun(by: $0.1) || surroundings.program.isGone($0.1) }
        guard !own.isEmpty else {
            return unusable + [
                Finding(
                    problem: "git does not ask this tool for tokens",
                    advice: ": run `git config --global --add credential.helper '!\(tool) git-credential'`",
                    isNote: true, missingProgram: "git")
            ]
        }
        var findings = unusable
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
        let working = own.filter { surroundings.isInstalled($0.1) }.map(\.0)
        return findings + answerFindings(answers, working, tool) + pathFindings(surroundings)
    }

    /// Reports what git does at the URLs with a rule.
    ///
    /// - Parameter own: The helpers of this tool that work.
    private func answerFindings(
        _ answers: [(url: RuleURL, answer: GitQuestion.Answer)], _ own: [Helper], _ tool: String
    ) -> [Finding] {
        guard let helper = own.first else { return [] }
        var groups: [(answer: GitQuestion.Answer, urls: [RuleURL])] = []
        for (url, answer) in answers {
            if answer == .neverAsks, !own.contains(where: { $0.url == nil }) { continue }
            if let index = groups.firstIndex(where: { $0.answer == answer }) {
                groups[index].urls.append(url)
            } else {
                groups.append((answer, [url]))
            }
        }
        return groups.compactMap { answer, urls in
            let places = urls.map(\.description).joined(separator: ", ")
            let setting = "credential.\(urls[0].origin).helper"
            let remedy =
                ": to use only this tool there, run `git config --global --replace-all \(setting) ''` and "
                + "`git config --global --add \(setting) \(helper.command.shellWord)`"
                + (Set(urls.map(\.origin)).count > 1 ? ", and the same for the other URLs" : "")
            switch answer {
            case .asks(after: let others) where others.isEmpty:
                return Finding(problem: "git asks this tool first for \(places)", isNote: true)
            case .asks(after: let others):
                let names = others.map(\.shown).joined(separator: ", ")
                return Finding(
                    problem: "for \(places), git asks \(names) before this tool, which it does not ask if there is a "
                        + "password", advice: remedy, isNote: true)
            case .answered(by: let other):
                return Finding(
                    problem: "git asks \(other.shown) first for \(places), so it never asks this tool", advice: remedy)
            case .neverAsks:
                return Finding(
                    problem: "git never asks this tool for \(places), because an empty credential helper discards the "
                        + "helpers before it", advice: remedy)
            }
        }
    }

    /// Reports helpers that are meant to run this tool, but that git reads in another way.
    private func unusableFindings(_ surroundings: ProgramSurroundings) -> [Finding] {
        let name = surroundings.program.name
        let ending = " " + Self.subcommand(of: surroundings.tool)
        return helpers.compactMap { helper in
            guard let words = Self.words(of: helper.command),
                Self.program(of: helper.command, for: surroundings.tool) == nil
            else { return nil }
            let text = words.joined(separator: " ")
            guard text.hasSuffix(ending), case let path = String(text.dropLast(ending.count)),
                path.lastComponent == name
            else { return nil }
            let removal =
                "run `git config --global --fixed-value --unset-all \(helper.setting.shellWord) "
                + "\(helper.command.shellWord)` and `\(surroundings.tool) setup git`"
            guard helper.command.hasPrefix("!") || helper.command.hasPrefix("/") else {
                return Finding(
                    problem:
                        "git runs `git credential-\(text.shown)`, and not this tool, because the helper does not begin "
                        + "with an exclamation mark", advice: ": \(removal)")
            }
            guard words.count > ending.split(separator: " ").count + 1, surroundings.isInstalled(path) else {
                return nil
            }
            return Finding(
                problem: "git runs \(words[0].shown), and not \(path.shown), because a path with spaces must be quoted",
                advice: ": \(removal)")
        }
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
