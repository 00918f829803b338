extension String {
    /// The text without characters that control a terminal, so that text from a service cannot change the screen. For
    /// JSON, see ``escapingDisplayControls``.
    package var shown: String {
        if utf8.allSatisfy({ 0x20...0x7E ~= $0 }) { return self }
        var visible = ""
        for scalar in unicodeScalars {
            visible.unicodeScalars.append(scalar.controlsDisplay ? "\u{FFFD}" : scalar)
        }
        return visible
    }

    /// The JSON text with an escape for each character that controls a terminal or reorders its text (RFC 8259, section
    /// 7).
    package var escapingDisplayControls: String {
        if utf8.allSatisfy({ 0x20...0x7E ~= $0 }) { return self }
        var escaped = ""
        for scalar in unicodeScalars {
            guard scalar.controlsDisplay else {
                escaped.unicodeScalars.append(scalar)
                continue
            }
            for unit in String(scalar).utf16 {
                let digits = String(unit, radix: 16)
                escaped += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
        return escaped
    }
}

extension Unicode.Scalar {
    /// Whether the character controls a terminal, or reorders or hides adjacent characters.
    package var controlsDisplay: Bool {
        switch properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
