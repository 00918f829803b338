import AccountKit
package import ArgumentParser

extension ValidationError {
    /// Creates an error with advice, which a tool shows on the next line.
    package init(_ message: String, hint: String?) { self.init(hint.map { "\(message)\n\($0)" } ?? message) }
}

/// The message of an error in the arguments, in the format of all errors.
enum UsageMessage {
    /// Returns an error of the parser, or a `ValidationError` of a command, with the help of the command that it is about.
    ///
    /// - Parameters:
    ///   - arguments: The arguments of the process.
    ///   - tool: The name of the account commands, such as `notes account`.
    static func error(
        _ error: any Error, in arguments: [String], of root: any ParsableCommand.Type, tool: String
    ) -> AccountError {
        var text = root.message(for: error)
        // An error that `run()` throws does not name the command.
        guard !(error is ValidationError), let words = command(in: root.fullMessage(for: error)) else {
            return self.error(text, help: "\(tool) --help")
        }
        var help = words.joined(separator: " ")
        // If a command was parsed again, the text omits the name of the app.
        if words.first == "account", tool.hasSuffix(" account") { help = tool + help.dropFirst("account".count) }
        var path = words.dropFirst(words.first == root._commandName ? 1 : 0)
        var (parent, command) = (root, root)
        while let name = path.first,
            let named = command.configuration.subcommands.first(where: { $0._commandName == name })
        {
            (parent, command, path) = (command, named, path.dropFirst())
        }
        let options = arguments.prefix { $0 != "--" }
        if let option = unknownOption(among: options, of: command, below: parent, explaining: text) {
            text = option
        } else if let value = negativeValue(in: options, explaining: text) {
            text = value
        } else if let word = unexpectedWord(in: text), !command.configuration.subcommands.isEmpty {
            text = Suggestion.unknownSubcommand(word, among: command.configuration.subcommands).message
        } else if text.hasPrefix("unknown subcommand "), help.hasSuffix(" status") {
            // A default subcommand reports the words that are not subcommands.
            help.removeLast(" status".count)
        } else if help.hasPrefix("\(tool) "), namesHiddenOption(text, of: command) {
            return self.error(text, help: "\(tool) help\(help.dropFirst(tool.count)) --all")
        }
        return self.error(text, help: "\(help) --help")
    }

    /// Returns the message about an option that a command doesn't have. The parser first reports a missing argument, or
    /// regards what follows the option as an argument, and then reports that.
    private static func unknownOption(
        among arguments: some Sequence<String>, of command: any ParsableCommand.Type,
        below parent: any ParsableCommand.Type, explaining message: String
    ) -> String? {
        guard ["Missing expected argument", "the argument is not a URL"].contains(where: message.hasPrefix) else {
            return nil
        }
        let given = arguments.filter { $0.hasPrefix("--") || $0.hasPrefix("-") && $0.count == 2 }
            .map { String($0.prefix { $0 != "=" }) }
        guard !given.isEmpty else { return nil }
        // `login` accepts the options of `login machine`.
        let others = parent.configuration.subcommands.filter { $0._commandName.hasPrefix(command._commandName + " ") }
        let known = ([command] + others).flatMap { command in
            command.helpMessage(includeHidden: true, columns: 200)
                .split { !$0.isLetter && !$0.isNumber && $0 != "-" }.filter { $0.hasPrefix("-") }.map(String.init)
        }
        guard let option = given.first(where: { !known.contains($0) }) else { return nil }
        let similar = Suggestion.nearest(to: option, among: known.filter { $0.hasPrefix("--") })
        return "Unknown option '\(option)'" + (similar.map { ". Did you mean '\($0)'?" } ?? "")
    }

    /// Returns the message about a negative number, which the parser regards as another option.
    private static func negativeValue(in arguments: ArraySlice<String>, explaining message: String) -> String? {
        guard message.hasPrefix("Missing value for '") else { return nil }
        let option = message.dropFirst("Missing value for '".count)
        let name = option.prefix { $0 != " " && $0 != "'" }
        guard let index = arguments.firstIndex(where: { $0 == name }),
            let value = arguments[index...].dropFirst().first, Double(value) != nil
        else { return nil }
        return "The value '\(value)' is invalid for '\(option)"
    }

    /// Returns the words in a text of the parser such as "See 'notes account login --help' for more information."
    private static func command(in text: String) -> [String]? {
        guard let start = text.firstRange(of: "  See '")?.upperBound else { return nil }
        return text[start...].prefix { $0 != "'" }.split(separator: " ").filter { !$0.hasPrefix("-") }.map(String.init)
    }

    /// Returns the first word in a message such as "2 unexpected arguments: 'a', 'b'".
    private static func unexpectedWord(in message: String) -> String? {
        let parts = message.split(separator: "'", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].lowercased().firstRange(of: "unexpected argument") != nil else { return nil }
        let word = parts[1].firstRange(of: "', '").map { parts[1][..<$0.lowerBound] } ?? parts[1].dropLast()
        return String(word)
    }

    /// Returns whether a message names an option that only the complete help shows.
    private static func namesHiddenOption(_ message: String, of command: any ParsableCommand.Type) -> Bool {
        func help(isShort: Bool) -> String {
            HelpDetail.$isShort.withValue(isShort) { command.helpMessage(columns: 200) }
        }
        let options = message.split { !$0.isLetter && !$0.isNumber && $0 != "-" }.filter { $0.hasPrefix("--") }
        guard !options.isEmpty else { return false }
        let (short, complete) = (help(isShort: true), help(isShort: false))
        return options.contains { short.firstRange(of: "\($0) ") == nil && complete.firstRange(of: "\($0) ") != nil }
    }

    /// Returns an error with the advice in its hint.
    ///
    /// - Parameters:
    ///   - text: The message of the parser, or of a `ValidationError` with or without a hint.
    ///   - help: The command that shows the help.
    static func error(_ text: String, help: String) -> AccountError {
        let see = "see `\(help)`"
        let lines = text.split(separator: "\n", maxSplits: 1).map(String.init)
        var message = lines.first ?? ""
        var hint: String?
        if lines.count == 2 {
            // The parser indents a second message.
            if lines[1].hasPrefix(" ") { message = text } else { hint = lines[1] }
        } else if let (option, similar) = unknownOption(in: message) {
            message = "Unknown option '\(option)'"
            let words = help.split(separator: " ")
            let meant = Suggestion.option(for: option, similar: similar, isLogin: words.contains("login"))
            hint = meant.map { "did you mean '\($0)'?" }
            if hint == nil, ["--list", "-l"].contains(option), let end = help.firstRange(of: " switch --help") {
                hint = "to list the sessions, run `\(help[..<end.lowerBound]) sessions`"
            }
        } else if let advice = advice(afterValueIn: message) {
            message.removeLast(advice.count)
            hint = String(advice.drop { ": .".contains($0) }).lowercasingFirst
            if hint?.last == "." { hint?.removeLast() }
        }
        // The value may be a secret: `--password` takes none.
        if let value = message.firstRange(of: ", but '"), message[..<value.lowerBound].hasSuffix("not take any value") {
            message = String(message[..<value.lowerBound])
        }
        if message.last == "." { message.removeLast() }
        // Advice that is not a question needs no help text.
        let advice = hint.map { $0.hasSuffix("?") ? "\($0) S\(see.dropFirst())" : $0 }
        return AccountError(.invalidArgument, message.lowercasingFirst, hint: advice ?? see)
    }

    /// Returns the names in a message such as "Unknown option '--tokn'. Did you mean '--token'?".
    private static func unknownOption(in message: String) -> (option: String, similar: String?)? {
        guard message.hasPrefix("Unknown option '") else { return nil }
        let quoted = message.split(separator: "'").enumerated().filter { !$0.offset.isMultiple(of: 2) }
        guard let option = quoted.first?.element else { return nil }
        return (String(option), quoted.dropFirst().first.map { String($0.element) })
    }

    /// Returns the end of a message such as "The value '8' is invalid for '--for <duration>': use a number with a unit".
    private static func advice(afterValueIn message: String) -> Substring? {
        guard let option = message.firstRange(of: "' is invalid for '"),
            let end = message[option.upperBound...].firstIndex(of: "'")
        else { return nil }
        let advice = message[message.index(after: end)...]
        return advice.count > 2 ? advice : nil
    }
}

extension String {
    fileprivate var lowercasingFirst: String { prefix(1).lowercased() + dropFirst() }
}
