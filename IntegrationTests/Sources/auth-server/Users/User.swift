/// A user of the example server.
///
/// The password is stored in plain text. A real service stores a slow, salted hash (RFC 9106, Argon2), but the users of
/// an example have nothing to protect, and hashing would only obscure the example.
struct User: Equatable, Sendable {
    /// The user's number in the app's own backend.
    let id: Int
    /// The user's stable, opaque identifier in OpenID Connect.
    let subject: String
    let username: String
    let password: String
    let name: String
    let nickname: String
    let email: String
    let phoneNumber: String
    let groups: [String]
    let points: Int
    /// When the profile last changed, in seconds since 1970.
    let updatedAt: Int

    var picture: String { "https://example.org/avatars/\(subject).png" }
}

extension User {
    /// The claims for a token of this scope.
    ///
    /// Source: OpenID Connect Core 1.0, sections 5.1 and 5.4. `groups` is not a standard claim; it has a separate scope
    /// here, as at many providers.
    func claims(for scope: Scope) -> JSONObject {
        var claims: JSONObject = ["sub": .string(subject)]
        if scope.contains("profile") {
            claims["name"] = .string(name)
            claims["nickname"] = .string(nickname)
            claims["preferred_username"] = .string(username)
            claims["picture"] = .string(picture)
            claims["updated_at"] = .integer(updatedAt)
        }
        if scope.contains("email") {
            claims["email"] = .string(email)
            claims["email_verified"] = true
        }
        if scope.contains("phone") {
            claims["phone_number"] = .string(phoneNumber)
        }
        if scope.contains("groups") {
            claims["groups"] = .array(groups.map { .string($0) })
        }
        return claims
    }

    /// The profile in the format of the app's own backend.
    var appProfile: JSONObject {
        [
            "id": .integer(id),
            "username": .string(username),
            "nickname": .string(nickname),
            "email": .string(email),
            "points": .integer(points),
        ]
    }
}
