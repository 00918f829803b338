extension String {
    /// The text in one line, in which each character that controls a terminal, reorders text or hides text is replaced
    /// (U+FFFD). All other text is unchanged. For JSON, see ``escapingDisplayControls``.
    ///
    /// The rule:
    ///
    /// | characters | in shown text |
    /// | --- | --- |
    /// | joiners (U+200C, U+200D) and other invisible characters that Persian, Khmer, Hebrew and emoji require | unchanged |
    /// | private use, and characters that this Unicode version does not know, such as new emoji | unchanged |
    /// | tags after a black flag, which spell the flag of a region (UTS #51, ED-14a) | unchanged |
    /// | controls (ECMA-48), line and paragraph separators | replaced |
    /// | embeddings, overrides and isolates (UAX #9, section 2), which make text look like other text | replaced |
    /// | other tags, noncharacters and unassigned characters without width, which hide text | replaced |
    package var shown: String {
        replacingDisplayControls { _ in "\u{FFFD}" }
    }

    /// The JSON text with an escape for each character that ``shown`` replaces (RFC 8259, section 7).
    package var escapingDisplayControls: String {
        replacingDisplayControls { scalar in
            String(scalar).utf16.map { unit in
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
    /// of the region's identifier (at most seven: UTS #35, section 3.6.5), and the end tag. 0 for other text.
    package var flagLength: Int {
        guard first == "\u{1F3F4}" else { return 0 }
        let tags = dropFirst().prefix(8).prefix { $0.isRegionTag }
        guard (3...7).contains(tags.count), self[tags.endIndex...].first == "\u{E007F}" else { return 0 }
        return tags.count + 2
    }
}

extension Unicode.Scalar {
    /// Whether the character controls a terminal, or reorders or hides text; see `String.shown`.
    package var controlsDisplay: Bool {
        switch value {
        // Embeddings, overrides and isolates, and deprecated formats.
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
