extension String {
    /// The number of columns that the text occupies on a terminal.
    ///
    /// A letter of East Asian scripts (UAX #11) and an emoji (UTS #51) occupy two columns, and marks and invisible
    /// characters occupy none. All other characters occupy one. Terminals differ for rare characters.
    package var columnCount: Int {
        if utf8.allSatisfy({ 0x20...0x7E ~= $0 }) { return utf8.count }
        return reduce(0) { $0 + $1.columnCount }
    }

    /// The text with spaces after it, so that it occupies at least this number of columns.
    package func padding(to columns: Int) -> String {
        self + String(repeating: " ", count: max(0, columns - columnCount))
    }
}

extension Character {
    fileprivate var columnCount: Int {
        // The variation selector makes other characters emoji.
        if unicodeScalars.contains(where: { $0.properties.isEmojiPresentation || $0 == "\u{FE0F}" }) { return 2 }
        return unicodeScalars.reduce(0) { $0 + $1.columnCount }
    }
}

extension Unicode.Scalar {
    fileprivate var columnCount: Int {
        switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .control: return 0
        // The soft hyphen and the signs before Arabic numbers are visible.
        case .format: return properties.isDefaultIgnorableCodePoint && value != 0xAD ? 0 : 1
        default: break
        }
        switch value {
        // Vowels and final consonants of a Hangul syllable.
        case 0x1160...0x11FF, 0xD7B0...0xD7FF: return 0
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97C, 0xAC00...0xD7A3, 0xF900...0xFAFF,
            0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x16FE0...0x18DFF, 0x1B000...0x1B2FF, 0x20000...0x3FFFD:
            return 2
        default: return 1
        }
    }
}
