extension String {
    /// The text in one line, in which each character that controls a terminal, reorders text or hides text is replaced
    /// (U+FFFD). All other text is unchanged, such as joiners in names and emoji.
    public var shown: String { replacingDisplayControls { _ in "\u{FFFD}" } }

    /// The content of a file for a terminal: line ends and tabs are kept, and each other character that ``shown``
    /// replaces is escaped, such as `\u{1B}`. Content in a pipe or a file must stay unchanged.
    public var escapedForTerminal: String {
        var rest = unicodeScalars[...]
        var result = ""
        while let end = rest.firstIndex(where: { $0 == "\n" || $0 == "\t" }) {
            var line = rest[..<end]
            let isCRLF = rest[end] == "\n" && line.last == "\r"
            if isCRLF { line = line.dropLast() }
            result += String(line).escapingLine + (isCRLF ? "\r" : "") + String(rest[end])
            rest = rest[rest.index(after: end)...]
        }
        return result + String(rest).escapingLine
    }

    private var escapingLine: String {
        replacingDisplayControls { "\\u{\(String($0.value, radix: 16, uppercase: true))}" }
    }

    /// The JSON text with these characters escaped (RFC 8259, section 7). Line ends are kept, because they occur only
    /// outside of strings.
    var escapingDisplayControls: String {
        replacingDisplayControls { scalar in
            if scalar == "\n" { return "\n" }
            return String(scalar).utf16.map { unit in
                let digits = String(unit, radix: 16)
                return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }.joined()
        }
    }

    private func replacingDisplayControls(_ replacement: (Unicode.Scalar) -> String) -> String {
        if utf8.allSatisfy({ 0x20...0x7E ~= $0 }) { return self }
        var result = String.UnicodeScalarView()
        var rest = unicodeScalars[...]
        while let scalar = rest.first {
            let count = rest.flagLength
            if count > 0 {
                result.append(contentsOf: rest.prefix(count))
            } else if scalar.controlsDisplay {
                result.append(contentsOf: replacement(scalar).unicodeScalars)
            } else {
                result.append(scalar)
            }
            rest = rest.dropFirst(max(count, 1))
        }
        return String(result)
    }
}

extension Substring.UnicodeScalarView {
    /// The length of the flag of a region with which the text begins, such as that of Scotland: a black flag, the tags
    /// of the region's identifier, and the end tag (UTS #51, ED-14a). 0 for other text.
    fileprivate var flagLength: Int {
        guard first == "\u{1F3F4}" else { return 0 }
        let tags = dropFirst().prefix(8).prefix { $0.isRegionTag }
        guard (3...7).contains(tags.count), self[tags.endIndex...].first == "\u{E007F}" else { return 0 }
        return tags.count + 2
    }
}

extension Unicode.Scalar {
    fileprivate var controlsDisplay: Bool {
        switch value {
        // Embeddings, overrides and isolates (UAX #9, section 2), and deprecated formats.
        case 0x202A...0x202E, 0x2066...0x206F: return true
        // Tags.
        case 0xE0000...0xE007F: return true
        default: break
        }
        return switch properties.generalCategory {
        case .control, .surrogate, .lineSeparator, .paragraphSeparator: true
        case .unassigned: properties.isNoncharacterCodePoint || properties.isDefaultIgnorableCodePoint
        default: false
        }
    }

    fileprivate var isRegionTag: Bool {
        switch value {
        case 0xE0030...0xE0039, 0xE0061...0xE007A: true
        default: false
        }
    }
}
