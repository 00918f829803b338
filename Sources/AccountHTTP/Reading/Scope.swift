import AccountKit

enum Scope {
    /// Returns the valid scopes in a text. This method drops invalid scopes, because AccountKit shows scopes to users.
    /// The `separator` is allowed in addition to white space.
    static func scopes(in text: String, separator: Character = " ") -> [String] {
        text.split { $0.isWhitespace || $0 == separator }.filter { RequestRules.isScope($0) }.map(String.init)
    }

    /// The scope that requests a refresh token, which is valid even while the user is offline (OpenID Connect Core,
    /// section 11).
    static let offlineAccess = "offline_access"

    /// The scope of a request with OpenID Connect (OpenID Connect Core, section 3.1.2.1).
    static let openID = "openid"

    /// The scopes that AccountKit requests by default to identify the user (OpenID Connect Core, section 5.4).
    static let ofOpenID: Set<String> = [openID, "profile", "email"]
}
