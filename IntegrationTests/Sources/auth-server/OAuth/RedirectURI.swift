/// A redirect URI: the address of a server that the client runs on the same machine.
///
/// Source: RFC 8252, section 7.3.
struct RedirectURI: Equatable, Sendable {
    let text: String
    /// The host as written, with the brackets of an IPv6 address.
    let host: String
    /// The path with its leading slash, or an empty string.
    let path: String

    /// - Returns: `nil` unless the text is `http://127.0.0.1:PORT/PATH`, or has `[::1]` or `localhost` as its host.
    init?(_ text: String) {
        let pattern = /http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(?::([0-9]{1,5}))?((?:\/[A-Za-z0-9._~-]*)*)/
        guard let match = text.wholeMatch(of: pattern) else { return nil }
        if let port = match.2, UInt16(port) == nil { return nil }
        self.text = text
        host = String(match.1)
        path = String(match.3)
    }

    /// The address with the given parameters, in order.
    func appending(_ parameters: [(name: String, value: String)]) -> String {
        text + "?" + parameters.map { "\($0.name)=\($0.value.percentEncoded)" }.joined(separator: "&")
    }

    /// The source expression for a `Content-Security-Policy` that allows a form's response to redirect to this address.
    ///
    /// Browsers also apply `form-action` to redirects of a form's response. The grammar has no IPv6 addresses.
    var formTarget: String {
        host.hasPrefix("[") ? "http:" : String(text.dropLast(path.count))
    }
}

extension ServerSettings {
    /// Whether the server accepts the redirect URI.
    func allows(_ redirectURI: RedirectURI) -> Bool {
        guard redirectURIs.isEmpty else { return redirectURIs.contains(redirectURI.text) }
        return redirectURI.path == "/callback" && personality.allows(redirectURI)
    }
}

extension String {
    /// The text escaped as a value in a query or a form: everything but unreserved characters is percent-encoded.
    ///
    /// Source: RFC 3986, section 2.
    var percentEncoded: String {
        utf8.map { byte in
            let character = Character(UnicodeScalar(byte))
            let isPlain = byte < 128 && (character.isLetter || character.isNumber || "-._~".contains(character))
            let digits = String(byte, radix: 16, uppercase: true)
            return isPlain ? String(character) : "%" + (digits.count == 1 ? "0" : "") + digits
        }.joined()
    }
}
