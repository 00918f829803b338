/// The secret of a confidential client, and the allowed methods of sending it.
///
/// Source: RFC 6749, section 2.3.1.
struct ClientSecret: Equatable, Sendable {
    /// A method of sending the secret, with its name in discovery.
    enum Method: String, Sendable {
        /// The client sends the secret in the `Authorization` field.
        case basic = "client_secret_basic"
        /// The client sends the secret in the body.
        case post = "client_secret_post"
    }

    let text: String
    var methods: [Method] = [.basic, .post]
}
