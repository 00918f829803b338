import Synchronization

/// How a client with a secret authenticates at the token endpoint (OpenID Connect Core, section 9).
public enum ClientAuthentication: String, Sendable, Hashable {
    /// In the `Authorization` header (RFC 6749, section 2.3.1).
    case basic = "client_secret_basic"

    /// In the form.
    case post = "client_secret_post"

    /// The method for an endpoint, or `nil` if it accepts neither.
    ///
    /// - Parameter methods: The methods that the endpoint supports. An endpoint without a list supports `client_secret_basic`
    ///   (RFC 8414, section 2).
    init?(supportedBy methods: [String]?) {
        guard let methods, !methods.contains(Self.basic.rawValue) else {
            self = .basic
            return
        }
        guard methods.contains(Self.post.rawValue) else { return nil }
        self = .post
    }

    /// The method to try next after an endpoint refused this one, or `nil` if the endpoint does not support it.
    func alternative(supportedBy methods: [String]?) -> ClientAuthentication? {
        let other: ClientAuthentication = self == .basic ? .post : .basic
        return methods?.contains(other.rawValue) ?? true ? other : nil
    }
}

/// The method that worked after the service had refused the first one.
final class LearnedAuthentication: Sendable {
    private let state = Mutex<ClientAuthentication?>(nil)

    var method: ClientAuthentication? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
