/// Unguessable text for tokens and codes.
///
/// `SystemRandomNumberGenerator` uses the operating system's cryptographic generator on the platforms that this example
/// supports.
enum RandomText {
    /// A bearer token of 32 random bytes in base64url, which is a subset of `b64token`.
    ///
    /// Source: RFC 6750, section 2.1; RFC 4648, section 5.
    ///
    /// - Parameter prefix: Identifies the kind of token, so that a scanner can recognize a leaked one.
    static func token(prefix: String) -> String {
        prefix + characters(43, from: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    }

    /// A code for the user to type, for example `WDJB-MJHT`. It has consonants only, so that it never spells a word.
    ///
    /// Source: RFC 8628, section 6.1.
    static func userCode() -> String {
        let alphabet = "BCDFGHJKLMNPQRSTVWXZ"
        return characters(4, from: alphabet) + "-" + characters(4, from: alphabet)
    }

    /// Lowercase hexadecimal digits.
    static func hexadecimal(_ count: Int) -> String {
        characters(count, from: "0123456789abcdef")
    }

    private static func characters(_ count: Int, from alphabet: String) -> String {
        let alphabet = Array(alphabet)
        return String((0..<count).map { _ in alphabet[Int.random(in: alphabet.indices)] })
    }
}
