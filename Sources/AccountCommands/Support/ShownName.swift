import AccountKit

extension Account {
    /// What to call the user on a terminal: in one line, and without characters that control it or reorder it.
    ///
    /// The name comes from the service, which must not be able to draw on the screen. JSON has it as it is.
    var shownName: String {
        let visible = displayName.unicodeScalars.map { scalar -> Unicode.Scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator:
                "\u{FFFD}"
            default: scalar
            }
        }
        return String(String.UnicodeScalarView(visible))
    }
}
