struct Warnings {
    /// The search that finds tokens in names. Warnings do not show names that contain a token.
    var search = TokenSearch([])
    private var sentences: Set<String> = []

    var list: [String] {
        let shown = sentences.sorted().prefix(50)
        let rest = sentences.count - shown.count
        return shown + (rest > 0 ? ["\(rest) more fields were left out."] : [])
    }

    mutating func leaveOut(_ path: [String], _ reason: String) {
        let names = path.suffix(4).map { search.findsToken(in: $0.utf8) ? "(hidden)" : Self.displayName($0) }
        sentences.insert("`\(names.joined(separator: "."))` was left out: \(reason).")
    }

    /// Returns a short name, without characters that control a terminal.
    static func displayName(_ name: String) -> String {
        var result = ""
        for scalar in name.unicodeScalars.prefix(64) {
            let isPlain = scalar.properties.isAlphabetic || scalar.properties.numericType != nil
            result.unicodeScalars.append(isPlain || "_-.$: ".unicodeScalars.contains(scalar) ? scalar : "?")
        }
        return name.unicodeScalars.count > 64 ? result + "…" : result
    }
}
