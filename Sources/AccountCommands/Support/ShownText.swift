import AccountKit

extension String {
    /// In one line, and without characters that control a terminal or reorder what it shows.
    ///
    /// Text of a service must not be able to draw on the screen. JSON has it as it is.
    var shown: String {
        if utf8.allSatisfy({ 0x20...0x7E ~= $0 }) { return self }
        var visible = ""
        for scalar in unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator:
                visible.unicodeScalars.append("\u{FFFD}")
            default: visible.unicodeScalars.append(scalar)
            }
        }
        return visible
    }
}

extension Account {
    var shownName: String { displayName.shown }
}
