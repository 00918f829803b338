/// Where a browser is sent back to: a server that the client runs on the same machine.
///
/// Source: RFC 8252, section 7.3.
struct RedirectURI: Equatable, Sendable {
    let text: String
    /// The host as it was written, with the brackets of an IPv6 address.
    let host: String
    /// With the slash that it begins with; empty when there is none.
    let path: String

    /// - Returns: `nil` for anything but `http://127.0.0.1:PORT/PATH`, or `[::1]` or `localhost` in its place.
    init?(_ text: String) {
        let pattern = /http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(?::([0-9]{1,5}))?((?:\/[A-Za-z0-9._~-]*)*)/
        guard let match = text.wholeMatch(of: pattern) else { return nil }
        if let port = match.2, UInt16(port) == nil { return nil }
        self.text = text
        host = String(match.1)
        path = String(match.3)
    }

    /// The address with parameters, in the order given.
    func appending(_ parameters: [(name: String, value: String)]) -> String {
        text + "?" + parameters.map { "\($0.name)=\($0.value.percentEncoded)" }.joined(separator: "&")
    }

    /// The source expression that allows a form's response to lead here, for a `Content-Security-Policy`.
    ///
    /// Browsers apply `form-action` to where a form's response redirects as well. The grammar has no IPv6 addresses.
    var formTarget: String {
        host.hasPrefix("[") ? "http:" : String(text.dropLast(path.count))
    }
}

extension ServerSettings {
    /// Whether a browser may be sent back there.
    func allows(_ redirectURI: RedirectURI) -> Bool {
        guard redirectURIs.isEmpty else { return redirectURIs.contains(redirectURI.text) }
        return redirectURI.path == "/callback" && quirks.allows(redirectURI)
    }
}

extension String {
    /// The text as a value in a query or a form: everything but unreserved characters is escaped.
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
