import AccountCrypto
import AccountKit
import AccountSupport
import Synchronization

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

    /// Returns the content of the `Authorization` header.
    func basicCredentials(_ clientID: String, _ clientSecret: Secret) -> Secret {
        func append(_ value: some Collection<UInt8>, to text: inout WipedBytes) {
            if isPlain { text.append(contentsOf: value) } else { FormBody.encode(value, keeping: "~", into: &text) }
        }
        var text = WipedBytes()
        append(clientID.utf8, to: &text)
        text.append(UInt8(ascii: ":"))
        clientSecret.withUnsafeBytes { append($0, to: &text) }
        return Secret(text.base64)
    }

    /// Whether the plain form of a client is possible and differs from the encoded form. A plain client ID must not contain a
    /// colon (RFC 7617, section 2).
    static func isPlainDifferent(_ clientID: String, _ clientSecret: Secret) -> Bool {
        let (plain, encoded) = (SecretForm(.basic, isPlain: true), SecretForm(.basic))
        return !clientID.utf8.contains(UInt8(ascii: ":"))
            && plain.basicCredentials(clientID, clientSecret) != encoded.basicCredentials(clientID, clientSecret)
    }
}

/// The form that worked after the service rejected the first form.
final class LearnedAuthentication: Sendable {
    private let state = Mutex<(form: SecretForm?, claims: (token: Secret, text: String)?)>((nil, nil))

    var form: SecretForm? {
        get { state.withLock { $0.form } }
        set { state.withLock { $0.form = newValue } }
    }

    /// Remembers the claims that an API requires in place of an access token.
    func note(_ claims: ClaimsChallenge, insteadOf token: Secret) {
        state.withLock { $0.claims = (token, claims.text) }
    }

    /// Returns the claims for the refresh of an access token, if an API requires some.
    func claims(insteadOf token: Secret) -> String? {
        state.withLock { $0.claims.flatMap { $0.token == token ? $0.text : nil } }
    }
}
