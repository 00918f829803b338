import AccountSupport

extension String {
    /// Breaks the text between words into lines of at most `columns` columns. A command in backticks stays on one
    /// line, even if it is longer, so that the user can copy it.
    func lines(within columns: Int) -> [String] {
        // A backtick in a path or name makes it unclear where a command begins.
        guard visibleColumnCount > columns, count(where: { $0 == "`" }).isMultiple(of: 2) else { return [self] }
        var lines: [String] = []
        var line = ""
        for word in words {
            if line.isEmpty {
                line = word
            } else if line.visibleColumnCount + 1 + word.visibleColumnCount <= columns {
                line += " " + word
            } else {
                lines.append(line)
                line = word
            }
        }
        return lines + [line]
    }

    /// Breaks each line between words, and keeps its indentation. A line with four spaces in front is a command or a URL to
    /// copy, and stays whole.
    ///
    /// - Parameter columns: `nil` if the width is unknown.
    func wrapped(within columns: Int?) -> String {
        guard let columns else { return self }
        return split(separator: "\n", omittingEmptySubsequences: false).map { line in
            let indent = String(line.prefix { $0 == " " })
            guard indent.count < 4 else { return String(line) }
            return String(line.dropFirst(indent.count)).lines(within: columns - indent.count)
                .map { indent + $0 }.joined(separator: "\n")
        }.joined(separator: "\n")
    }

    /// The number of columns without the codes of colors and bold text.
    private var visibleColumnCount: Int {
        guard utf8.contains(0x1B) else { return columnCount }
        let parts = split(separator: "\u{1B}", omittingEmptySubsequences: false)
        return String(parts[0]).columnCount
            + parts.dropFirst().reduce(0) { $0 + String($1.drop { $0 != "m" }.dropFirst()).columnCount }
    }

    /// The parts between spaces. A space between backticks does not end a part.
    private var words: [String] {
        var words: [String] = []
        var isInCommand = false
        for part in split(separator: " ", omittingEmptySubsequences: false) {
            if isInCommand { words[words.count - 1] += " " + part } else { words.append(String(part)) }
            if !part.count(where: { $0 == "`" }).isMultiple(of: 2) { isInCommand.toggle() }
        }
        return words
    }
}
