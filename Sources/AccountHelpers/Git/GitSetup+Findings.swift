import AccountCommands
import AccountKit
import AccountSupport

extension GitSetup {
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
