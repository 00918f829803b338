import AccountSupport

extension String {
    /// A text of AccountKit in the words of the commands. AccountKit does not know whether its caller is a command, so it
    /// marks the options.
    var inCommandWords: String {
        guard firstRange(of: Self.mark) != nil || firstRange(of: Self.listAdvice) != nil else { return self }
        var result = ""
        var rest = self[...]
        while let mark = rest.firstRange(of: Self.mark), let end = rest[mark.upperBound...].firstIndex(of: ")") {
            let words = rest[mark.upperBound..<end]
            result += rest[..<mark.lowerBound] + (words.hasPrefix("with ") ? " \(words)" : " (\(words))")
            rest = rest[rest.index(after: end)...]
        }
        return (result + rest).replacing(Self.listAdvice, with: "repeat --scope for each scope")
    }

    private static var mark: String { " (on a command line, " }
    private static var listAdvice: String { "pass one scope per list element" }
}
