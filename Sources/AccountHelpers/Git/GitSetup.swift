import AccountCommands
import AccountKit
import AccountSupport

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
}
