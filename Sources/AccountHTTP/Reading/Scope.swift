import AccountKit

enum Scope {
    static func isValid(_ text: some StringProtocol) -> Bool { RequestRules.isScope(text) }

    /// What cannot be a scope is left out: it is shown to people.
    ///
    /// - Parameter separator: What may stand between two scopes beside white space.
    static func scopes(in text: String, separator: Character = " ") -> [String] {
        text.split { $0.isWhitespace || $0 == separator }.filter { isValid($0) }.map(String.init)
    }

    /// Asks for a token that outlives the user's presence (OpenID Connect Core, section 11).
    static let offlineAccess = "offline_access"
}
