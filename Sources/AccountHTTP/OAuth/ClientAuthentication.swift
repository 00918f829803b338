/// The method with which a client with a secret authenticates at the token endpoint (OpenID Connect Core, section 9).
public enum ClientAuthentication: String, Sendable, Hashable {
    /// Sends the secret in the `Authorization` header (RFC 6749, section 2.3.1).
    case basic = "client_secret_basic"

    /// Sends the secret in the form.
    case post = "client_secret_post"

    /// Chooses a method that the service supports. Returns `nil` if the list contains neither method. If there is no
    /// list, the method is `client_secret_basic` (RFC 8414, section 2).
    init?(supportedBy methods: [String]?) {
        guard let methods, !methods.contains(Self.basic.rawValue) else {
            self = .basic
            return
        }
        guard methods.contains(Self.post.rawValue) else { return nil }
        self = .post
    }

    func alternative(supportedBy methods: [String]?) -> ClientAuthentication? {
        let other: ClientAuthentication = self == .basic ? .post : .basic
        return methods?.contains(other.rawValue) ?? true ? other : nil
    }
}
