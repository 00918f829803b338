package import AccountKit
package import AccountSupport

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

    /// The port, or `nil` if it is the default port of the scheme.
    let port: Int?

    /// The decoded parts of the path; empty for the whole host.
    package let path: [String]

    package init(_ text: String) throws(ServiceURL.Flaw) {
        let url = try ServiceURL(text)
        guard url.query == nil else { throw .query }
        var path: [String] = []
        for part in Self.parts(of: url.path[...]) {
            guard let decoded = String(percentEncoded: part), !decoded.utf8.contains(UInt8(ascii: "/")) else {
                throw .malformed
            }
            path.append(decoded)
        }
        try self.init(url, path)
    }

    /// Creates a URL from parts that a program passes. `authority` contains the port, unless the port is the scheme's
    /// default. `path` is already decoded, with or without a leading slash.
    package init(scheme: String, authority: String, path: String = "") throws(ServiceURL.Flaw) {
        guard path.utf8.count <= ServiceURL.maximumByteCount else { throw .malformed }
        let url = try ServiceURL("\(scheme)://\(authority)")
        // Each part must be what the program says, and not contain marks that end it.
        guard url.scheme == scheme.lowercased(), url.path.isEmpty, url.query == nil else { throw .malformed }
        try self.init(url, Self.parts(of: path[...]).map(String.init))
    }

    private init(_ url: ServiceURL, _ path: [String]) throws(ServiceURL.Flaw) {
        (scheme, port) = (url.scheme, url.port)
        if let address = IPAddress(String(url.host.dropFirst().dropLast())), address.isIPv6 {
            host = "[\(address.text)]"
        } else {
            host = url.host
        }
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        // Servers interpret these parts differently.
        guard host.utf8.count <= 253, !labels.contains(""),
            path.allSatisfy({ part in part != "." && part != ".." && part.utf8.allSatisfy { Self.isPlain($0) } })
        else { throw .malformed }
        self.path = path
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
    package var authority: String { host + (port.map { ":\($0)" } ?? "") }
}

// MARK: - Reading

extension RuleURL {
    private static func isPlain(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F && byte != UInt8(ascii: "\\") }

    /// Splits a path. A single leading or trailing slash is ignored; a double slash is not.
    private static func parts(of path: Substring) -> [Substring] {
        var path = path
        if path.utf8.first == UInt8(ascii: "/") { path = path.dropFirst() }
        if path.utf8.last == UInt8(ascii: "/") { path = path.dropLast() }
        return path.isEmpty ? [] : path.split(separator: "/", omittingEmptySubsequences: false)
    }
}
