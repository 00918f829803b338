import AccountSupport

extension String {
    /// Breaks the text between words into lines of at most `columns` columns. A command in backticks stays on one
    /// line, even if it is longer, so that the user can copy it.
    func lines(within columns: Int) -> [String] {
        // A backtick in a path or name makes it unclear where a command begins.
        guard columnCount > columns, count(where: { $0 == "`" }).isMultiple(of: 2) else { return [self] }
        var lines: [String] = []
        var line = ""
        for word in words {
            if line.isEmpty {
                line = word
            } else if line.columnCount + 1 + word.columnCount <= columns {
                line += " " + word
            } else {
                lines.append(line)
                line = word
            }
        }
        return lines + [line]
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
