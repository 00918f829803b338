import AccountKit

enum Scope {
    static func isValid(_ text: some StringProtocol) -> Bool { RequestRules.isScope(text) }

    /// Drops invalid scopes, because scopes are shown to users. The `separator` is allowed in addition to white space.
    static func scopes(in text: String, separator: Character = " ") -> [String] {
        text.split { $0.isWhitespace || $0 == separator }.filter { isValid($0) }.map(String.init)
    }

    /// Requests a token that remains valid while the user is offline (OpenID Connect Core, section 11).
    static let offlineAccess = "offline_access"
}
