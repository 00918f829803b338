/// A scope (RFC 6749, section 3.3).
enum Scope {
    /// Whether text is one scope: visible ASCII but `"` and `\`.
    static func isValid(_ text: some StringProtocol) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
    }

    /// The scopes that a service names in one text. What cannot be one is left out: it is shown to people.
    ///
    /// - Parameters:
    ///   - text: Scopes, with any white space between them.
    ///   - separator: What else stands between two.
    static func scopes(in text: String, separator: Character = " ") -> [String] {
        text.split { $0.isWhitespace || $0 == separator }.filter { isValid($0) }.map(String.init)
    }

    /// Asks for a token that outlives the user's presence (OpenID Connect Core, section 11).
    static let offlineAccess = "offline_access"
}
