enum HelpText {
    /// Moves the common options after the command's own options. The parser prints the sections with a title first.
    static func withCommonOptionsLast(_ help: String) -> String {
        guard let common = help.firstRange(of: "\n\nCOMMON OPTIONS:\n"),
            let own = help[common.upperBound...].firstRange(of: "\n\nOPTIONS:\n")
        else { return help }
        let end = help.hasSuffix("\n") ? "\n" : ""
        return help[..<common.lowerBound] + help[own.lowerBound...].dropLast(end.count)
            + help[common.lowerBound..<own.lowerBound] + end
    }
}
