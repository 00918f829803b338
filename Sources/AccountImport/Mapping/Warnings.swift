/// What could not be taken from a file, each thing once.
struct Warnings {
    /// As many as a person may read.
    private static let maximumCount = 50

    /// Names that hold a token are not shown.
    var search = TokenSearch([])

    private var sentences: Set<String> = []

    /// The sentences in alphabetical order.
    var list: [String] {
        let shown = sentences.sorted().prefix(Self.maximumCount)
        let rest = sentences.count - shown.count
        return shown + (rest > 0 ? ["\(rest) more fields were left out."] : [])
    }

    /// Notes that the field at `path`, its key after those of the dictionaries around it, was not taken.
    mutating func leaveOut(_ path: [String], _ reason: String) {
        let names = path.suffix(4).map { search.findsToken(in: $0) ? "(hidden)" : Self.displayName($0) }
        sentences.insert("`\(names.joined(separator: "."))` was left out: \(reason).")
    }

    /// A name from a file as it may stand in a message: short, and without characters that steer a terminal.
    static func displayName(_ name: String) -> String {
        var result = ""
        for scalar in name.unicodeScalars.prefix(64) {
            let isPlain = scalar.properties.isAlphabetic || scalar.properties.numericType != nil
            result.unicodeScalars.append(isPlain || "_-.$: ".unicodeScalars.contains(scalar) ? scalar : "?")
        }
        return name.unicodeScalars.count > 64 ? result + "…" : result
    }
}
