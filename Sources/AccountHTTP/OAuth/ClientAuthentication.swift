import Synchronization

/// How a client with a secret authenticates at the token endpoint (OpenID Connect Core, section 9).
public enum ClientAuthentication: String, Sendable, Hashable {
    /// In the `Authorization` header (RFC 6749, section 2.3.1).
    case basic = "client_secret_basic"

    /// In the form.
    case post = "client_secret_post"

    /// Returns `nil` if neither is supported. No list means `client_secret_basic` (RFC 8414, section 2).
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

/// Remembers the method that worked after the service rejected the first.
final class LearnedAuthentication: Sendable {
    private let state = Mutex<ClientAuthentication?>(nil)

    var method: ClientAuthentication? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
