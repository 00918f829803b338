/// An absolute `http` or `https` URL to which AccountKit may send a token: over TLS, or on a connection that stays on
/// this machine. Where URL parsers differ, the syntax is stricter than RFC 3986, so that AccountKit connects to the
/// host that it checked.
package struct ServiceURL: Sendable, Hashable, CustomStringConvertible {
    package let scheme: String

    /// The host in lower case. An IPv6 address is in brackets.
    package let host: String

    /// The port, or `nil` if it is the default port of the scheme.
    package let port: Int?

    /// The path, which is empty or begins with a slash.
    package let path: String
    package let query: String?

    /// The problem with a URL, which completes a sentence that begins with the URL.
    package enum Flaw: Error, Hashable {
        case noScheme
        case otherScheme
        case malformed
        case notASCII
        case credentials
        case query
        case fragment
        case notEncrypted

        package var text: String {
            switch self {
            case .noScheme: "has no scheme; it must begin with https://"
            case .otherScheme: "is not a web URL; it must begin with https://"
            case .malformed: "is not a well-formed URL"
            case .notASCII:
                "contains non-ASCII characters; write the host in its DNS form (xn--…), and encode the rest"
            case .credentials: "must not contain a user name or a password"
            case .query: "must not contain a query (?…)"
            case .fragment: "must not contain a fragment (#…)"
            case .notEncrypted: "is not encrypted; use https:// (http:// only for 127.0.0.1, [::1] and localhost)"
            }
        }
    }

    /// Quotes a text for a message. Returns an empty string if the text may contain a password, is not printable, or is
    /// longer than 200 bytes.
    package static func shown(_ text: String) -> String {
        let isPlain = text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
        return text.contains("@") || text.utf8.count > 200 || !isPlain ? "" : " \"\(text)\""
    }

    package init(_ text: String) throws(Flaw) {
        guard text.utf8.count <= Self.maximumByteCount else { throw .malformed }
        guard text.utf8.allSatisfy({ $0 < 0x80 }) else { throw .notASCII }
        guard text.utf8.allSatisfy({ 0x21...0x7E ~= $0 && !Self.refused.contains($0) }) else { throw .malformed }
        guard let separator = text.utf8.firstRange(of: "://".utf8) else { throw .noScheme }
        scheme = text[..<separator.lowerBound].lowercased()
        guard scheme == "http" || scheme == "https" else { throw .otherScheme }
        let rest = text[separator.upperBound...]
        guard !rest.contains("#") else { throw .fragment }
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        guard !authority.contains("@") else { throw .credentials }
        guard let server = HostAndPort(authority) else { throw .malformed }
        host = server.host
        port = server.port.map(Int.init).flatMap { [scheme] in $0 == (scheme == "https" ? 443 : 80) ? nil : $0 }
        let tail = rest[authority.endIndex...]
        path = String(tail.prefix { $0 != "?" })
        query = tail.firstIndex(of: "?").map { String(tail[tail.index(after: $0)...]) }
        guard scheme == "https" || isLoopback else { throw .notEncrypted }
    }

    package init(at base: ServiceURL, path: String) {
        (scheme, host, port, query) = (base.scheme, base.host, base.port, nil)
        self.path = path
    }

    /// The scheme, the host and the port, which identify a server.
    package var origin: ServiceURL { ServiceURL(at: self, path: "") }

    package var description: String { "\(scheme)://\(authority)\(path)\(query.map { "?\($0)" } ?? "")" }
    package var target: String { (path.isEmpty ? "/" : path) + (query.map { "?\($0)" } ?? "") }
    package var authority: String { port.map { "\(host):\($0)" } ?? host }

    package var isLoopback: Bool { LoopbackHost.contains(host) }

    /// The URLs to try, in this order. Without TLS, these contain loopback addresses instead of `localhost`, because a
    /// name server may resolve `localhost` to another machine.
    package var connectionURLs: [String] {
        guard scheme == "http", host == LoopbackHost.name else { return [description] }
        return LoopbackHost.addresses.map { "\(scheme)://\($0)\(port.map { ":\($0)" } ?? "")\(target)" }
    }

    package static let maximumByteCount = 2048

    /// Characters that RFC 3986 does not allow, or that parsers treat differently.
    private static let refused = Array("\"<>\\^`{|}".utf8)
}
