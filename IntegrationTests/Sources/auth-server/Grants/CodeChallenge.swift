/// The hash of a secret, with which a client later proves that it started the sign-in.
///
/// Source: RFC 7636, method S256, the only one this server accepts (RFC 9700, section 2.1.1).
struct CodeChallenge: Codable, Equatable, Sendable {
    static let method = "S256"

    private let text: String

    /// - Returns: `nil` if the text cannot be a SHA-256 hash in base64url.
    init?(_ text: String) {
        guard text.wholeMatch(of: /[A-Za-z0-9_-]{43}/) != nil else { return nil }
        self.text = text
    }

    /// Whether this is the challenge of the verifier.
    ///
    /// Source: RFC 7636, sections 4.1 and 4.6.
    func matches(verifier: String) -> Bool {
        guard verifier.wholeMatch(of: /[A-Za-z0-9._~-]{43,128}/) != nil else { return false }
        return SHA256.hash(verifier).base64URL == text
    }
}
