extension String {
    /// The text on one line, without characters that control a terminal or reorder what it shows.
    public var shown: String {
        if utf8.allSatisfy({ 0x20...0x7E ~= $0 }) { return self }
        var visible = ""
        for scalar in unicodeScalars {
            visible.unicodeScalars.append(scalar.controlsDisplay ? "\u{FFFD}" : scalar)
        }
        return visible
    }

    /// The JSON text with these characters escaped (RFC 8259, section 7). Line ends are kept, because they occur only
    /// outside of strings.
    var escapingDisplayControls: String {
        var escaped = ""
        for scalar in unicodeScalars {
            guard scalar.controlsDisplay, scalar != "\n" else {
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
