import AccountSupport

/// The values of MCP in header fields.
enum MCPFieldValue {
    private static let prefix = "=?base64?"
    private static let suffix = "?="

    /// Encodes a text that is not safe in a header field.
    ///
    /// Source: Model Context Protocol 2026-07-28, "Streamable HTTP", section "Value Encoding".
    static func encoded(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { 0x20...0x7E ~= $0 || $0 == 0x09 }
        let spaces: Set<Character> = [" ", "\t"]
        let hasSpace = text.first.map { spaces.contains($0) } == true || text.last.map { spaces.contains($0) } == true
        let isMarked = text.hasPrefix(prefix) && text.hasSuffix(suffix)
        guard !isPlain || hasSpace || isMarked else { return text }
        return prefix + Data(text.utf8).base64EncodedString() + suffix
    }

    /// The text of a parameter: a string, a boolean, or an integer that is exact in JavaScript; otherwise `nil`.
    static func text(of value: JSONText) -> String? {
        if let text = value.string { return text }
        if let boolean = value.boolean { return boolean ? "true" : "false" }
        guard value.isNumber else { return nil }
        let number = String(decoding: value.bytes, as: UTF8.self)
        let limit = 9_007_199_254_740_991
        if let integer = Int(number) { return -limit...limit ~= integer ? String(integer) : nil }
        // The same integer can be written as 42.0 or 4.2e1.
        guard let real = Double(number), let integer = Int(exactly: real) else { return nil }
        return -limit...limit ~= integer ? String(integer) : nil
    }

    /// Whether a text is a version such as 2026-07-28. Other texts are never sent in a header field.
    static func isVersion(_ text: String) -> Bool {
        1...64 ~= text.utf8.count && text.utf8.allSatisfy { 0x21...0x7E ~= $0 }
    }
}
