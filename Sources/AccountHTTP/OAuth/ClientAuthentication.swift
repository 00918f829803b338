/// How a client proves who it is, of what this package can do (OpenID Connect Core, section 9).
enum ClientAuthentication: Sendable, Hashable {
    case basic, post

    /// What to do where an endpoint says what it takes; `nil` if that is neither. `client_secret_basic` goes without saying
    /// (RFC 8414, section 2).
    init?(_ methods: [String]?) {
        guard let methods, !methods.contains("client_secret_basic") else {
            self = .basic
            return
        }
        guard methods.contains("client_secret_post") else { return nil }
        self = .post
    }
}
