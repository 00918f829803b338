import AccountKit

extension String {
    /// In one line, and without characters that control a terminal or reorder what it shows.
    ///
    /// Text of a service must not be able to draw on the screen. For JSON see ``escapingDisplayControls``.
    var shown: String {
        if utf8.allSatisfy({ 0x20...0x7E ~= $0 }) { return self }
        var visible = ""
        for scalar in unicodeScalars {
            visible.unicodeScalars.append(scalar.controlsDisplay ? "\u{FFFD}" : scalar)
        }
        return visible
    }

    /// JSON text, with each character that controls a terminal or reorders what it shows as an escape (RFC 8259, section 7).
    var escapingDisplayControls: String {
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
    fileprivate var controlsDisplay: Bool {
        switch properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}

extension Account {
    var shownName: String { displayName.shown }
}
