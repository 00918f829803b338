import Synchronization

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

/// The way in which a client sends its secret: the method, and the form of the `Authorization` header.
///
/// AccountKit sends the form of RFC 6749, section 2.3.1: the ID and the secret in
/// `application/x-www-form-urlencoded`, in which the unreserved characters of RFC 3986, section 2.3, stay as they are, also
/// `~`. Services that do not decode the header therefore accept most IDs and secrets. Only if a service rejects the client
/// at a sign-in does AccountKit send the plain form of RFC 7617, and the session keeps what the service accepted.
struct SecretForm: Sendable, Hashable {
    var method: ClientAuthentication

    /// Whether the header contains the ID and the secret without an encoding.
    var isPlain = false

    private static let plainName = ClientAuthentication.basic.rawValue + "_plain"

    init(_ method: ClientAuthentication, isPlain: Bool = false) {
        self.method = method
        self.isPlain = isPlain
    }

    /// Creates the form that an account or a registration names; `nil` for an unknown name.
    init?(name: String) {
        if name == Self.plainName {
            self.init(.basic, isPlain: true)
        } else if let method = ClientAuthentication(rawValue: name) {
            self.init(method)
        } else {
            return nil
        }
    }

    /// The name in an account.
    var name: String { isPlain ? Self.plainName : method.rawValue }
}

/// The form that worked after the service rejected the first form.
final class LearnedAuthentication: Sendable {
    private let state = Mutex<SecretForm?>(nil)
    private let requiredClaims = Mutex<String?>(nil)

    var form: SecretForm? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }

    /// Remembers the claims that an API requires.
    func note(_ claims: ClaimsChallenge) { requiredClaims.withLock { $0 = claims.text } }

    /// Returns the claims for one refresh.
    func takeClaims() -> String? {
        requiredClaims.withLock { claims in
            defer { claims = nil }
            return claims
        }
    }
}
