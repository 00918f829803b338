import AccountKit
package import ArgumentParser

extension ValidationError {
    /// Creates an error with advice, which a tool shows on the next line.
    package init(_ message: String, hint: String?) { self.init(hint.map { "\(message)\n\($0)" } ?? message) }
}

/// The message of an error in the arguments, in the format of all errors.
enum UsageMessage {
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
            let isLogin = help.split(separator: " ").contains("login")
            hint = Suggestion.option(for: option, similar: similar, isLogin: isLogin).map { "did you mean '\($0)'?" }
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
