import AccountKit

enum Scope {
    static func isValid(_ text: some StringProtocol) -> Bool { RequestRules.isScope(text) }

    /// Returns the valid scopes in a string. Invalid ones are dropped, because scopes are shown to users.
    ///
    /// - Parameter separator: A character that may separate two scopes, in addition to white space.
    static func scopes(in text: String, separator: Character = " ") -> [String] {
        text.split { $0.isWhitespace || $0 == separator }.filter { isValid($0) }.map(String.init)
    }

    /// Requests a token that remains valid while the user is offline (OpenID Connect Core, section 11).
    static let offlineAccess = "offline_access"
}
