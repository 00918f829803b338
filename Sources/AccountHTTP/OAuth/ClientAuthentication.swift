/// How a client proves who it is (OpenID Connect Core, section 9), as far as this package supports it.
enum ClientAuthentication: Sendable, Hashable {
    case basic, post

    /// `nil` if an endpoint accepts neither. Without a list, it accepts `client_secret_basic` (RFC 8414, section 2).
    init?(_ methods: [String]?) {
        guard let methods, !methods.contains("client_secret_basic") else {
            self = .basic
            return
        }
        guard methods.contains("client_secret_post") else { return nil }
        self = .post
    }
}
