import AccountKit

extension Account {
    /// What to call the user on a terminal: in one line, and without characters that control it or reorder it.
    ///
    /// The name comes from the service, which must not be able to draw on the screen. JSON has it as it is.
    var shownName: String {
        var visible = ""
        for scalar in displayName.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator:
                visible.unicodeScalars.append("\u{FFFD}")
            default: visible.unicodeScalars.append(scalar)
            }
        }
        return visible
    }
}
