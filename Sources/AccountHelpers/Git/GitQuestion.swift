import AccountCommands
import AccountKit
import AccountSupport

/// Finds out which helper would answer git at a URL, by asking git.
///
/// git alone decides which settings match a URL, and in which order it asks their helpers (gitcredentials(7)): its files
/// have an order, an empty helper discards all helpers before it, and the first helper with a password ends the search.
/// So this runs `git credential fill`, but with a command in place of each helper. The command of this tool only reports
/// that git has reached it. The command of another helper runs that helper, and only reports whether it has a password:
/// no password leaves that command. Helpers that may show a window or open a browser are not run.
struct GitQuestion {
    enum Answer: Equatable {
        /// git asks this tool, after other helpers that have no password now, but may have one later.
        case asks(after: [GitSetup.Helper])

        /// git does not ask this tool, because an earlier helper answers.
        case answered(by: GitSetup.Helper)

        case neverAsks
    }

    /// How a helper is represented.
    private enum Part {
        case own
        /// Asks the user itself, so it always answers.
        case dialog
        /// Reads a store that may first ask the user to unlock it.
        case keyring
        /// The program of this tool, but at a path that does not exist: it never answers.
        case nothing
        case other
    }

    let settings: [GitSetup.Helper]
    let tool: String
    let program: ToolProgram

    private static let mark = "account-helper:"

    private static let dialogs: Set = ["manager", "manager-core", "manager-ui", "oauth"]

    private static let keyrings: Set = [
        "libsecret", "gnome-keyring", "osxkeychain", "wincred", "keychain", "kwallet", "pass", "gopass", "1password",
        "lastpass", "bitwarden", "keepassxc", "winstore",
    ]

    /// Asks git.
    ///
    /// - Returns: `nil` if git does not answer, as git before 2.31.
    func answer(at url: RuleURL, username: String?) async -> Answer? {
        let output = await ExternalProgram.output(
            of: "sh", ["-c", "git -C / credential fill 2>&1; exit 0"], input: Self.input(url, username),
            setting: variables, hiding: GitSetup.hiddenVariables + ["DISPLAY", "WAYLAND_DISPLAY"])
        return output.flatMap { answer(from: $0) }
    }

    static func input(_ url: RuleURL, _ username: String?) -> String {
        var lines = ["protocol=\(url.origin.prefix { $0 != ":" })", "host=\(url.authority)"]
        if !url.path.isEmpty { lines.append("path=\(url.path.joined(separator: "/"))") }
        if let username { lines.append("username=\(username)") }
        return lines.map { $0 + "\n" }.joined() + "\n"
    }

    /// The environment that replaces the helpers of git's files. Other users of the machine cannot read it.
    var variables: [String: String] {
        var values = [
            "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "", "SSH_ASKPASS": "", "GCM_INTERACTIVE": "never",
            "GIT_CONFIG_COUNT": "\(settings.count + 2)",
            // Discards the helpers of the files.
            "GIT_CONFIG_KEY_0": "credential.helper", "GIT_CONFIG_VALUE_0": "",
        ]
        for (index, setting) in settings.enumerated() {
            values["GIT_CONFIG_KEY_\(index + 1)"] = setting.setting
            values["GIT_CONFIG_VALUE_\(index + 1)"] = setting.command.isEmpty ? "" : command(setting, at: index)
        }
        values["GIT_CONFIG_KEY_\(settings.count + 1)"] = "credential.helper"
        values["GIT_CONFIG_VALUE_\(settings.count + 1)"] = "!echo \(Self.mark) end >&2; :"
        return values
    }

    private func command(_ helper: GitSetup.Helper, at index: Int) -> String {
        guard case .other = part(helper) else { return "!echo \(Self.mark) \(index) >&2; :" }
        let isCommand = helper.command.hasPrefix("!") || helper.command.hasPrefix("/")
        let line = isCommand ? String(helper.command.drop { $0 == "!" }) : "git credential-" + helper.command
        // git adds the operation to the line. A helper that hangs is no answer.
        return "!f() { t=; command -v timeout >/dev/null && t='timeout 5'; "
            + "if $t sh -c \((line + " get").shellWord) 2>/dev/null "
            + "| grep -q -e '^password=' -e '^credential=' -e '^quit=1' -e '^quit=true'; "
            + "then echo \(Self.mark) \(index) answers >&2; else echo \(Self.mark) \(index) >&2; fi; }; f"
    }

    private func part(_ helper: GitSetup.Helper) -> Part {
        if let path = GitSetup.program(of: helper.command, for: tool) {
            if program.isGone(path) { return .nothing }
            if program.isRun(by: path) { return program.isInstalled(path) ? .own : .nothing }
        }
        guard var name = helper.program?.lastComponent.lowercased() else { return .other }
        if name.hasSuffix(".exe") { name.removeLast(4) }
        if name.hasPrefix("git-credential-") { name.removeFirst("git-credential-".count) }
        return Self.dialogs.contains(name) ? .dialog : Self.keyrings.contains(name) ? .keyring : .other
    }

    /// Reads the reports of the commands.
    func answer(from output: String) -> Answer? {
        var others: [GitSetup.Helper] = []
        for line in output.split(separator: "\n") where line.hasPrefix(Self.mark) {
            let words = line.split(separator: " ").dropFirst()
            if words.first == "end" { return .neverAsks }
            guard let index = words.first.flatMap({ Int($0) }), settings.indices.contains(index) else { continue }
            let helper = settings[index]
            switch part(helper) {
            case .own: return .asks(after: others)
            case .dialog: return .answered(by: helper)
            case .nothing: break
            case .keyring: others.append(helper)
            case .other:
                if words.last == "answers" { return .answered(by: helper) }
                others.append(helper)
            }
        }
        return nil
    }
}

extension GitSetup {
    /// Reads git's settings, apart from those of a repository.
    static func read() async -> GitSetup {
        // git also fails if there is no such setting.
        GitSetup(await ExternalProgram.output(of: "git", arguments, hiding: hiddenVariables) ?? "")
    }

    /// Asks git what it does at the URLs with a rule.
    func answers(_ surroundings: ProgramSurroundings) async -> [(url: RuleURL, answer: GitQuestion.Answer)] {
        let question = GitQuestion(settings: settings, tool: surroundings.tool, program: surroundings.program)
        guard helpers.contains(where: { Self.program(of: $0.command, for: surroundings.tool) != nil }) else {
            return []
        }
        var answers: [(url: RuleURL, answer: GitQuestion.Answer)] = []
        for rule in surroundings.rules.sorted.prefix(Self.maximumCount) {
            guard let answer = await question.answer(at: rule.url, username: rule.username),
                !answers.contains(where: { $0.url == rule.url && $0.answer == answer })
            else { continue }
            answers.append((rule.url, answer))
        }
        return answers
    }

    /// Each question takes some milliseconds, or seconds if a helper hangs.
    private static let maximumCount = 32
}
