package import AccountKit
import AccountSupport

/// A URL to which a token may be sent, from a rule or from the request of another program.
///
/// The format is stricter than RFC 3986 where programs interpret URLs differently: the host must consist of plain ASCII
/// characters, and there must be no user name, no query, and no `.` or `..` in the path. Therefore, the host that was
/// compared with the rules is the host that receives the token.
package struct RuleURL: Hashable, Sendable {
    /// `https`, or `http` for a connection that stays on this machine.
    let scheme: String

    /// The host in lower case. An IPv6 address is in brackets, in the format of RFC 5952.
    package let host: String

    let port: Int

    /// The decoded parts of the path; empty for the whole host.
    package let path: [String]

    /// The problem with a URL, phrased as the end of a sentence that begins with the URL.
    package enum Flaw: Error, Hashable {
        case noScheme
        case otherScheme
        case malformed
        case credentials
        case query
        case notASCII
        case notEncrypted

        package var text: String {
            switch self {
            case .noScheme: "has no scheme: begin it with https://"
            case .otherScheme: "is not a web URL: begin it with https://"
            case .malformed: "is not a well-formed URL"
            case .credentials: "must not contain a user name or a password: use --username"
            case .query: "must not contain a query (?…) or a fragment (#…)"
            case .notASCII:
                "contains non-ASCII characters: write the host in its DNS form (xn--…), and encode the rest"
            case .notEncrypted: "is not encrypted: use https:// (http:// only for 127.0.0.1, [::1] and localhost)"
            }
        }
    }

    package init(_ text: String) throws(Flaw) {
        guard text.utf8.count <= Self.maximumByteCount else { throw .malformed }
        guard text.utf8.allSatisfy({ $0 < 0x80 }) else { throw .notASCII }
        guard text.utf8.allSatisfy({ 0x21...0x7E ~= $0 && !Self.refused.contains($0) }) else { throw .malformed }
        guard let separator = text.utf8.firstRange(of: "://".utf8) else { throw .noScheme }
        let rest = text[separator.upperBound...]
        guard !rest.contains("#"), !rest.contains("?") else { throw .query }
        let authority = rest.prefix { $0 != "/" }
        var path: [String] = []
        for part in Self.parts(of: rest[authority.endIndex...]) {
            guard let decoded = String(percentEncoded: part), !decoded.utf8.contains(UInt8(ascii: "/")) else {
                throw .malformed
            }
            path.append(decoded)
        }
        try self.init(scheme: String(text[..<separator.lowerBound]), authority: String(authority), parts: path)
    }

    /// Creates a URL from parts that a program passes. `authority` contains the port, unless the port is the scheme's
    /// default. `path` is already decoded, with or without a leading slash.
    package init(scheme: String, authority: String, path: String = "") throws(Flaw) {
        guard path.utf8.count <= Self.maximumByteCount, authority.utf8.count <= Self.maximumByteCount else {
            throw .malformed
        }
        try self.init(scheme: scheme, authority: authority, parts: Self.parts(of: path[...]).map(String.init))
    }

    private init(scheme: String, authority: String, parts: [String]) throws(Flaw) {
        // Check this before changing the case: some letters become ASCII in lower case.
        guard authority.utf8.allSatisfy({ $0 < 0x80 }) else { throw .notASCII }
        guard ["http", "https"].contains(where: { $0.utf8.elementsEqual(scheme.utf8.map(\.lowercaseASCII)) }) else {
            throw .otherScheme
        }
        self.scheme = scheme.lowercased()
        guard !authority.utf8.contains(UInt8(ascii: "@")) else { throw .credentials }
        (host, port) = try Self.hostAndPort(authority, scheme: self.scheme)
        // Servers interpret these parts differently.
        guard parts.allSatisfy({ part in part != "." && part != ".." && part.utf8.allSatisfy { Self.isPlain($0) } })
        else { throw .malformed }
        path = parts
        guard self.scheme == "https" || isLoopback else { throw .notEncrypted }
    }

    /// Returns whether a rule for this URL allows the token for another URL: on the same origin, with a path at or below
    /// this path. A path that a server may read as a path elsewhere is not below this path.
    package func covers(_ other: RuleURL) -> Bool {
        guard scheme == other.scheme, host == other.host, port == other.port else { return false }
        guard !path.isEmpty else { return true }
        return path.count <= other.path.count && zip(path, other.path).allSatisfy { $0.utf8.elementsEqual($1.utf8) }
            && other.path.dropFirst(path.count).allSatisfy(\.isPlainPathSegment)
    }

    /// Whether all servers read the path in the same way.
    package var hasPlainPath: Bool { path.allSatisfy(\.isPlainPathSegment) }

    var isLoopback: Bool { LoopbackHost.contains(host) }

    /// Throws `misconfigured` if the URL is on `http://localhost`, and a hosts file or a name server resolves that name
    /// to another machine. The program that gets a token for this URL resolves the name itself.
    package func checkStaysHere() throws(AccountError) {
        guard scheme == "http", host == LoopbackHost.name else { return }
        let elsewhere = SystemCall.addresses(of: host).first { IPAddress($0)?.isLoopback != true }
        if let elsewhere {
            throw AccountError(
                .misconfigured,
                "localhost resolves to \(elsewhere) here, so \(origin) gets no token",
                hint: "correct /etc/hosts, or use 127.0.0.1 instead of localhost")
        }
    }
}

extension RuleURL: CustomStringConvertible {
    /// The URL as text. Parsing this text returns an equal URL.
    package var description: String {
        "\(origin)/" + path.map { $0.percentEncoded(keeping: "-._~") }.joined(separator: "/")
    }

    package var origin: String { "\(scheme)://\(authority)" }

    /// The host, with the port unless it is the scheme's default.
    package var authority: String { host + (port == Self.port(of: scheme) ? "" : ":\(port)") }
}

// MARK: - Reading

extension RuleURL {
    private static let maximumByteCount = 2048

    /// Characters that RFC 3986 does not allow, or that programs treat differently.
    private static let refused = Array("\"<>\\^`{|}".utf8)

    private static func port(of scheme: String) -> Int { scheme == "https" ? 443 : 80 }

    private static func isPlain(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F && byte != UInt8(ascii: "\\") }

    /// Splits a path. A single leading or trailing slash is ignored; a double slash is not.
    private static func parts(of path: Substring) -> [Substring] {
        var path = path
        if path.utf8.first == UInt8(ascii: "/") { path = path.dropFirst() }
        if path.utf8.last == UInt8(ascii: "/") { path = path.dropLast() }
        return path.isEmpty ? [] : path.split(separator: "/", omittingEmptySubsequences: false)
    }

    private static func hostAndPort(_ authority: String, scheme: String) throws(Flaw) -> (String, Int) {
        // An empty port means the scheme's default port (RFC 3986, section 3.2.3).
        let authority = authority.hasSuffix(":") ? authority.dropLast() : authority[...]
        guard let server = HostAndPort(authority) else { throw .malformed }
        let port = server.port.map(Int.init) ?? port(of: scheme)
        if server.host.hasPrefix("["), let address = IPAddress(String(server.host.dropFirst().dropLast())) {
            return ("[\(address.text)]", port)
        }
        let labels = server.host.split(separator: ".", omittingEmptySubsequences: false)
        guard server.host.utf8.count <= 253, !labels.contains("") else { throw .malformed }
        return (server.host, port)
    }
}

extension UInt8 {
    fileprivate var lowercaseASCII: UInt8 { 65...90 ~= self ? self | 0x20 : self }
}
