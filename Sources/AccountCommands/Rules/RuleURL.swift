import AccountKit

/// A URL that a token may be sent to: one that a rule names, or one that another program asks for.
///
/// Stricter than RFC 3986 where programs read URLs differently, so that the host that was compared is the host that gets the
/// token: an ASCII host of plain characters, no user name, no query, no path that leads upwards.
struct RuleURL: Hashable, Sendable {
    /// `https`, or `http` for a connection that stays on this machine.
    let scheme: String

    /// In lower case; an IPv6 address in brackets, as RFC 5952 writes it.
    let host: String

    /// The scheme's own, if the URL names none.
    let port: Int

    /// The parts of the path, decoded; empty for all of the host.
    let path: [String]

    /// What is wrong with a URL, as the end of a sentence that begins with it.
    enum Flaw: Error, Hashable {
        case noScheme
        case otherScheme
        case malformed
        case credentials
        case query
        case notASCII
        case notEncrypted

        var text: String {
            switch self {
            case .noScheme: "has no scheme: begin it with https://"
            case .otherScheme: "is not a web URL: begin it with https://"
            case .malformed: "is not a well-formed URL"
            case .credentials: "must not contain a user name or a password: say the user name with --username"
            case .query: "must not contain a query (?…) or a fragment (#…)"
            case .notASCII:
                "has characters that are not ASCII: write the host as DNS has it (xn--…), and the rest encoded"
            case .notEncrypted: "is not encrypted: use https:// (http:// is for 127.0.0.1, [::1] and localhost only)"
            }
        }
    }

    /// Reads a whole URL; the path is decoded.
    init(_ text: String) throws(Flaw) {
        guard text.utf8.count <= Self.maximumByteCount else { throw .malformed }
        guard text.utf8.allSatisfy({ $0 < 0x80 }) else { throw .notASCII }
        guard text.utf8.allSatisfy({ 0x21...0x7E ~= $0 && !Self.refused.contains($0) }) else { throw .malformed }
        guard let separator = text.utf8.firstRange(of: "://".utf8) else { throw .noScheme }
        let rest = text[separator.upperBound...]
        guard !rest.contains("#"), !rest.contains("?") else { throw .query }
        let authority = rest.prefix { $0 != "/" }
        var path: [String] = []
        for part in Self.parts(of: rest[authority.endIndex...]) {
            guard let decoded = Self.decoded(part), !decoded.utf8.contains(UInt8(ascii: "/")) else { throw .malformed }
            path.append(decoded)
        }
        try self.init(scheme: String(text[..<separator.lowerBound]), authority: String(authority), parts: path)
    }

    /// Puts a URL together that a program hands over in parts.
    ///
    /// - Parameters:
    ///   - scheme: Without `://`.
    ///   - authority: The host, and the port if it is not the scheme's own.
    ///   - path: Decoded already; with or without a slash at the start.
    init(scheme: String, authority: String, path: String = "") throws(Flaw) {
        guard path.utf8.count <= Self.maximumByteCount, authority.utf8.count <= Self.maximumByteCount else {
            throw .malformed
        }
        try self.init(scheme: scheme, authority: authority, parts: Self.parts(of: path[...]).map(String.init))
    }

    private init(scheme: String, authority: String, parts: [String]) throws(Flaw) {
        // Before the case is changed: some letters become ASCII by that.
        guard authority.utf8.allSatisfy({ $0 < 0x80 }) else { throw .notASCII }
        guard ["http", "https"].contains(where: { $0.utf8.elementsEqual(scheme.utf8.map(\.lowercaseASCII)) }) else {
            throw .otherScheme
        }
        self.scheme = scheme.lowercased()
        guard !authority.utf8.contains(UInt8(ascii: "@")) else { throw .credentials }
        (host, port) = try Self.hostAndPort(authority, scheme: self.scheme)
        // Servers disagree on what these are.
        guard parts.allSatisfy({ part in part != "." && part != ".." && part.utf8.allSatisfy { Self.isPlain($0) } })
        else { throw .malformed }
        path = parts
        guard self.scheme == "https" || isLoopback else { throw .notEncrypted }
    }

    /// Whether a rule for this URL is one for the other: the same host and port, and a path that is the other's or one above it.
    func covers(_ other: RuleURL) -> Bool {
        scheme == other.scheme && host == other.host && port == other.port && path.count <= other.path.count
            && zip(path, other.path).allSatisfy { $0.utf8.elementsEqual($1.utf8) }
    }

    /// Whether a connection to the host stays on this machine.
    var isLoopback: Bool { LoopbackHost.contains(host) }

    /// Checks that the program that gets a token for this URL sends it nowhere else: it looks the name up itself.
    ///
    /// - Throws: `misconfigured` if a hosts file or a name server leads `http://localhost` away from this machine.
    func checkStaysHere() throws(AccountError) {
        guard scheme == "http", host == LoopbackHost.name else { return }
        let elsewhere = SystemCall.addresses(of: host).first { IPAddress($0)?.isLoopback != true }
        if let elsewhere {
            throw AccountError(
                .misconfigured,
                "localhost leads to \(elsewhere) here, so \(origin) gets no token: correct /etc/hosts, or write 127.0.0.1 "
                    + "instead of localhost")
        }
    }
}

extension RuleURL: CustomStringConvertible {
    /// Reads as the same URL again.
    var description: String {
        "\(origin)/" + path.map(Self.encoded).joined(separator: "/")
    }

    var origin: String {
        "\(scheme)://\(host)" + (port == Self.port(of: scheme) ? "" : ":\(port)")
    }
}

// MARK: - Reading

extension RuleURL {
    private static let maximumByteCount = 2048

    /// Characters that RFC 3986 does not allow, or that programs treat differently.
    private static let refused = Array("\"<>\\^`{|}".utf8)

    private static func port(of scheme: String) -> Int { scheme == "https" ? 443 : 80 }

    private static func isPlain(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F && byte != UInt8(ascii: "\\") }

    /// One slash at the start and one at the end mean nothing; two in a row do.
    private static func parts(of path: Substring) -> [Substring] {
        var path = path
        if path.utf8.first == UInt8(ascii: "/") { path = path.dropFirst() }
        if path.utf8.last == UInt8(ascii: "/") { path = path.dropLast() }
        return path.isEmpty ? [] : path.split(separator: "/", omittingEmptySubsequences: false)
    }

    private static func hostAndPort(_ authority: String, scheme: String) throws(Flaw) -> (String, Int) {
        let host: String
        let tail: Substring
        if authority.hasPrefix("[") {
            guard let bracket = authority.firstIndex(of: "]"),
                let address = IPv6Text.canonical(authority[..<bracket].dropFirst())
            else { throw .malformed }
            host = "[\(address)]"
            tail = authority[bracket...].dropFirst()
        } else {
            let name = authority.prefix { $0 != ":" }
            let labels = name.split(separator: ".", omittingEmptySubsequences: false)
            guard name.utf8.count <= 253,
                labels.allSatisfy({ label in !label.isEmpty && label.utf8.allSatisfy(\.isHostByte) })
            else { throw .malformed }
            host = name.lowercased()
            tail = authority[name.endIndex...]
        }
        guard tail.count > 1 else {
            guard tail.isEmpty || tail == ":" else { throw .malformed }
            return (host, port(of: scheme))
        }
        let digits = tail.dropFirst()
        guard tail.first == ":", digits.utf8.allSatisfy({ 48...57 ~= $0 }), let port = UInt16(digits), port > 0 else {
            throw .malformed
        }
        return (host, Int(port))
    }

    /// RFC 3986, section 2.1; `nil` if it is not UTF-8 then.
    private static func decoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst()?.hexValue, let low = rest.popFirst()?.hexValue else { return nil }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func encoded(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF")
        return text.utf8.reduce(into: "") { result, byte in
            if byte.isHostByte || byte == UInt8(ascii: "~") || byte == UInt8(ascii: ".") {
                result.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                result += "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
            }
        }
    }
}

extension UInt8 {
    fileprivate var lowercaseASCII: UInt8 { 65...90 ~= self ? self | 0x20 : self }

    /// A character of a part of a host's name. The underscore is no letter of DNS, but of some hosts' names.
    fileprivate var isHostByte: Bool {
        97...122 ~= lowercaseASCII || 48...57 ~= self || self == UInt8(ascii: "-") || self == UInt8(ascii: "_")
    }

    fileprivate var hexValue: UInt8? {
        switch self {
        case 48...57: self - 48
        case 65...70: self - 55
        case 97...102: self - 87
        default: nil
        }
    }
}
