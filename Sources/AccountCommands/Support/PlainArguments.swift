/// The words of a command line, read without the argument parser, whose start takes more instructions than a check with the
/// service.
///
/// The reader accepts only words that the parser reads in the same way: options with long names, with values after a space or
/// `=`, and `-v`. If it finds another word, the caller must use the parser, which also reports errors.
struct PlainArguments {
    private var words: ArraySlice<String>
    /// The value after `=` in the last option.
    private var attachedValue: Substring?

    init(_ words: ArraySlice<String>) { self.words = words }

    /// Returns the next option, such as `--session`; `nil` at the end, or before a word that is not an option.
    mutating func nextOption() -> Substring? {
        guard let word = words.first, word == "-v" || word.hasPrefix("--") else { return nil }
        words.removeFirst()
        guard let equals = word.firstIndex(of: "=") else {
            attachedValue = nil
            return word[...]
        }
        attachedValue = word[word.index(after: equals)...]
        return word[..<equals]
    }

    /// Whether no word remains.
    var isAtEnd: Bool { words.isEmpty }

    /// Each method reads what follows the name of an option, and returns whether the reader accepts it.
    func read(_ flag: inout Bool) -> Bool {
        flag = true
        return attachedValue == nil
    }

    mutating func read(_ text: inout String?) -> Bool {
        text = value()
        return text != nil
    }

    mutating func read(_ texts: inout [String]) -> Bool {
        guard let text = value() else { return false }
        texts.append(text)
        return true
    }

    mutating func read(_ number: inout Double) -> Bool {
        guard let read = value().flatMap({ Double($0) }) else { return false }
        number = read
        return true
    }

    mutating func read(_ number: inout Double?) -> Bool {
        number = value().flatMap { Double($0) }
        return number != nil
    }

    /// Returns the value of the last option, unless the parser could read it in another way.
    private mutating func value() -> String? {
        if let attachedValue { return attachedValue.isEmpty ? nil : String(attachedValue) }
        guard let word = words.first, !word.isEmpty, !word.hasPrefix("-") else { return nil }
        words.removeFirst()
        return word
    }
}
