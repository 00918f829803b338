import AccountSupport

/// The help of a command, as the parser formats it, with additions at its end.
package enum HelpText {
    /// Returns the help to show.
    ///
    /// - Parameters:
    ///   - short: The help with the commands and options that most users need.
    ///   - complete: The help with all of them.
    static func shown(_ short: String, complete: String, showsAll: Bool, tool: String) -> String {
        // The text may also be a completion script, or the help as JSON.
        guard let usage = usage(in: complete) else { return complete }
        let text = withCommonOptionsLast(showsAll ? complete : withUsage(brief(usage), short))
        guard let words = command(in: usage) else { return text }
        var lines: [String] = []
        if !showsAll, short != complete {
            lines.append("More: `\(([tool, "help"] + words + ["--all"]).joined(separator: " "))`")
        }
        if let article = HelpArticle(of: words) {
            // The stand-alone tool has a page for each command.
            if tool == "account" { lines.append("Manual: `man \(page(of: words))`") }
            lines.append("Article: \(article.title), in the documentation of AccountKit")
        }
        guard !lines.isEmpty else { return text }
        return text + (text.hasSuffix("\n") ? "\n" : "\n\n") + lines.joined(separator: "\n")
    }

    /// Moves the common options after the command's own options. The parser prints the sections with a title first.
    static func withCommonOptionsLast(_ help: String) -> String {
        guard let common = help.firstRange(of: "\n\nCOMMON OPTIONS:\n"),
            let own = help[common.upperBound...].firstRange(of: "\n\nOPTIONS:\n")
        else { return help }
        let end = help.hasSuffix("\n") ? "\n" : ""
        return help[..<common.lowerBound] + help[own.lowerBound...].dropLast(end.count)
            + help[common.lowerBound..<own.lowerBound] + end
    }

    /// Returns what follows `USAGE: ` in a help text; `nil` for another text.
    private static func usage(in text: String) -> Substring? {
        guard text.hasPrefix("OVERVIEW: ") || text.hasPrefix("USAGE: "), let start = text.firstRange(of: "USAGE: ")
        else { return nil }
        return text[start.upperBound...].prefix { $0 != "\n" }
    }

    /// Returns a usage with `[<options>]` instead of the optional options.
    static func brief(_ usage: Substring) -> String {
        var parts: [String] = []
        var depth = 0
        for word in usage.split(separator: " ") {
            if depth > 0 { parts[parts.count - 1] += " " + word } else { parts.append(String(word)) }
            depth += word.count { $0 == "[" } - word.count { $0 == "]" }
        }
        let isOptional: (String) -> Bool = { $0.hasPrefix("[-") || $0 == "[<options>]" }
        guard let first = parts.firstIndex(where: isOptional) else { return String(usage) }
        return (parts[..<first] + ["[<options>]"] + parts[first...].filter { !isOptional($0) }).joined(separator: " ")
    }

    /// Replaces the usage: with fewer options, the parser lists all of them there.
    private static func withUsage(_ usage: String, _ help: String) -> String {
        guard let old = self.usage(in: help) else { return help }
        return String(help[..<old.startIndex] + usage + help[old.endIndex...])
    }

    /// Returns the account command that a usage describes, such as `["key", "add"]`; `nil` for a command of the app.
    private static func command(in usage: Substring) -> [String]? {
        let words = path(of: usage)
        // `account` is the name of the tool, or the first subcommand of the app.
        guard let start = words.prefix(2).firstIndex(of: "account") else { return nil }
        return Array(words[(start + 1)...])
    }

    /// Returns the names of the tool and the command that a help text is about; `nil` for another text.
    static func path(in text: String) -> [String]? { usage(in: text).map(path) }

    private static func path(of usage: Substring) -> [String] {
        usage.split(separator: " ").prefix { !"[<-(".contains($0.first ?? "[") }.map(String.init)
    }

    /// Returns the name of the manual page about a command of `account`. `Scripts/manual.py` writes the pages.
    static func page(of words: [String]) -> String {
        if words.first == "docker-credential" { return "docker-credential-account" }
        let count = words.starts(with: ["login", "machine"]) ? 2 : 1
        return (["account"] + words.prefix(count)).joined(separator: "-")
    }

    /// Returns an account command for the user to type; see ``folded(_:)``.
    static func example(_ command: String) -> String { folded("\(CommandLine.toolName) \(command)") }

    /// The width of a help text, as the parser determines it.
    static var columns: Int { Environment.value("COLUMNS").flatMap { Int($0) } ?? Terminal.size(of: .output).columns }

    /// Breaks the examples of a help text, which the parser breaks like other lines, in the syntax of a shell.
    ///
    /// - Parameter wide: The help with unbroken lines.
    static func foldingExamples(of wide: String, in help: String, _ columns: Int) -> String {
        let usage = "\n\nUSAGE: "
        guard let end = help.firstRange(of: usage), let wideEnd = wide.firstRange(of: usage) else { return help }
        let lines = wide[..<wideEnd.lowerBound].split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.contains(where: { $0.hasPrefix("  ") && $0.count >= columns }) else { return help }
        let broken = lines.flatMap { line in
            guard line.hasPrefix("  ") else { return Self.lines(of: line, within: columns) }
            guard line.count >= columns else { return [String(line)] }
            let indent = line.prefix { $0 == " " }
            let isContinued = line.hasSuffix(" \\")
            return [
                folded(
                    String(line.dropFirst(indent.count).dropLast(isContinued ? 2 : 0)), indent: String(indent),
                    within: columns - indent.count - 3) + (isContinued ? " \\" : "")
            ]
        }
        return broken.joined(separator: "\n") + help[end.lowerBound...]
    }

    /// Breaks a line between words, as the parser does.
    private static func lines(of line: Substring, within columns: Int) -> [String] {
        var (lines, rest): ([String], Substring) = ([], line)
        while rest.count >= columns {
            guard let space = rest.prefix(columns).lastIndex(of: " ") ?? rest.firstIndex(of: " ") else { break }
            lines.append(String(rest[..<space]))
            rest = rest[rest.index(after: space)...]
        }
        return lines + [String(rest)]
    }

    /// Returns a command for the user to type, as an indented line of a help text. A longer line is broken between words, in
    /// the syntax of a shell.
    package static func folded(_ command: String) -> String { folded(command, indent: "  ", within: exampleWidth) }

    private static func folded(_ command: String, indent: String, within columns: Int) -> String {
        var lines = [""]
        for word in command.shellParts {
            let line = lines[lines.count - 1]
            if line.isEmpty {
                lines[lines.count - 1] = word
            } else if line.columnCount + 1 + word.columnCount <= columns {
                lines[lines.count - 1] = "\(line) \(word)"
            } else {
                lines.append("    " + word)
            }
        }
        return lines.map { indent + $0 }.joined(separator: " \\\n")
    }

    /// The length of a line without its indentation and ` \`.
    private static let exampleWidth = 72
}

extension String {
    /// The words of a command. An option and its value stay together, and so does quoted text.
    fileprivate var shellParts: [String] {
        var parts: [String] = []
        for word in split(separator: " ").map(String.init) {
            let last = parts.last ?? ""
            let isQuoted = "\"'".contains { quote in !last.count { $0 == quote }.isMultiple(of: 2) }
            let isOption = last.hasPrefix("-") && !last.contains(" ") && last != "--"
            if isQuoted || isOption && !word.hasPrefix("-") {
                parts[parts.count - 1] = "\(last) \(word)"
            } else {
                parts.append(word)
            }
        }
        return parts
    }
}

/// The article about a command.
struct HelpArticle: Equatable {
    let title: String

    /// Creates the article about a command, such as `["key", "add"]`, or else about the command above it; `nil` for a
    /// command of another group.
    init?(of words: [String]) {
        let name = words.joined(separator: " ")
        guard let title = Self.titles[name] ?? words.first.flatMap({ Self.titles[$0] }) else { return nil }
        self.title = title
    }

    private static let quickStart = "Quick start: the account command"
    private static let scripting = "Exit codes, JSON and variables"
    private static let sessions = "Use several accounts"
    private static let programs = "Give a token to a program"
    private static let offline = "Work offline"

    private static let titles = [
        "": quickStart, "login": "Sign-in flows", "login machine": "CI and servers", "logout": quickStart,
        "whoami": scripting, "status": scripting, "token": scripting, "refresh": scripting, "sessions": sessions,
        "switch": sessions, "key": "Protect the key", "exec": programs, "keep": programs, "rule": sessions,
        "setup": "Git", "mcp": "MCP clients", "headers": "MCP clients", "git-credential": "Git",
        "kube-credential": "Kubernetes", "docker-credential": "Docker, Podman and Skopeo",
        "doctor": "Troubleshooting", "sync": offline, "pending": offline, "resolve": offline,
    ]
}
