import AccountKit
package import ArgumentParser

extension ValidationError {
    /// Creates an error with advice, which a tool shows on the next line.
    package init(_ message: String, hint: String?) { self.init(hint.map { "\(message)\n\($0)" } ?? message) }
}

/// The message of an error in the arguments, in the format of all errors.
struct UsageMessage {
    private var message: String
    private var hint: String?

    /// - Parameter text: The message of the parser, or of a `ValidationError` with or without a hint.
    init(_ text: String) {
        let lines = text.split(separator: "\n", maxSplits: 1)
        message = lines.first.map(String.init) ?? ""
        // The parser indents a second message.
        if lines.count == 2 { if lines[1].hasPrefix(" ") { message = text } else { hint = String(lines[1]) } }
        if let question = message.firstRange(of: "'. Did you mean '"), message.hasPrefix("Unknown option '") {
            let option = String(message[..<question.lowerBound].dropFirst("Unknown option '".count))
            let similar = message[question.upperBound...].prefix { $0 != "'" }
            message = "Unknown option '\(option)'"
            hint = Suggestion.option(for: option, similar: String(similar)).map { "did you mean '\($0)'?" }
        }
        if let advice = Self.advice(afterValueIn: message) {
            message.removeLast(advice.count)
            hint = String(advice.drop { ": .".contains($0) }).lowercasingFirst
            if hint?.last == "." { hint?.removeLast() }
        }
        if message.last == "." { message.removeLast() }
        message = message.lowercasingFirst
    }

    /// Returns the end of a message such as "The value '8' is invalid for '--for <duration>': use a number with a unit".
    private static func advice(afterValueIn message: String) -> Substring? {
        guard let option = message.firstRange(of: "' is invalid for '"),
            let end = message[option.upperBound...].firstIndex(of: "'")
        else { return nil }
        let advice = message[message.index(after: end)...]
        return advice.count > 2 ? advice : nil
    }

    /// - Parameter help: The command that shows the help.
    func error(help: String) -> AccountError {
        let see = "see `\(help)`"
        guard let hint else { return AccountError(.invalidArgument, message, hint: see) }
        // A hint with a command needs no other advice.
        let advice = hint.hasSuffix("?") ? "\(hint) S\(see.dropFirst())" : hint
        return AccountError(.invalidArgument, message, hint: advice)
    }
}

extension String {
    fileprivate var lowercasingFirst: String { prefix(1).lowercased() + dropFirst() }
}
