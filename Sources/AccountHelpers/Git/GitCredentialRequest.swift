import AccountCommands
import AccountKit

/// A request of git to a credential helper: lines of `key=value` (git-credential(1), "Input/output format").
///
/// Like git, this type rejects a line that has no `=` or contains a NUL. It ignores unknown keys, which are reserved
/// for later versions.
struct GitCredentialRequest {
    private(set) var `protocol` = ""

    /// The host, with the port if the URL has one.
    private(set) var host = ""

    /// The decoded path. git sends it only if `credential.useHttpPath` is set.
    private(set) var path = ""
    private(set) var username = ""
    private(set) var password: Secret?

    /// The token that git sent, for a header with the ``authenticationScheme``. Requires git 2.46 or later.
    private(set) var credential: Secret?
    private(set) var authenticationScheme = ""

    /// The `WWW-Authenticate` headers that the server sent. Requires git 2.41 or later.
    private(set) var challenges: [String] = []
    private(set) var capabilities: [String] = []

    struct Malformed: Error, Equatable {}

    init(_ bytes: [UInt8]) throws(Malformed) {
        for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            if line.isEmpty { return }
            guard let equals = line.firstIndex(of: UInt8(ascii: "=")), equals > line.startIndex, !line.contains(0)
            else {
                throw Malformed()
            }
            try set(String(decoding: line[..<equals], as: UTF8.self), to: line[(equals + 1)...])
        }
    }

    private mutating func set(_ key: String, to value: ArraySlice<UInt8>) throws(Malformed) {
        switch key {
        case "protocol": `protocol` = try text(value)
        case "host": host = try text(value)
        case "path": path = try text(value)
        case "username": username = try text(value)
        case "password": password = Secret(bytes: value)
        case "credential": credential = Secret(bytes: value)
        case "authtype": authenticationScheme = try text(value)
        case "wwwauth[]": try add(value, to: &challenges)
        case "capability[]": try add(value, to: &capabilities)
        default: break
        }
    }

    /// Adds a value. An empty value clears the list.
    private func add(_ value: ArraySlice<UInt8>, to list: inout [String]) throws(Malformed) {
        if value.isEmpty {
            list = []
        } else if list.count < Self.maximumCount {
            list.append(try text(value))
        }
    }

    private func text(_ value: ArraySlice<UInt8>) throws(Malformed) -> String {
        guard let text = String(validating: value, as: UTF8.self) else { throw Malformed() }
        return text
    }

    private static let maximumCount = 64
}

extension GitCredentialRequest {
    /// The URL to find a rule for; `nil` for another protocol, no host, or an invalid host.
    var url: RuleURL? {
        try? RuleURL(scheme: `protocol`, authority: host, path: path)
    }

    /// Whether git can send the token as a Bearer token, and the server accepts Bearer tokens.
    ///
    /// If the challenges of a server, such as a forge, do not include `Bearer`, the server expects the token as a
    /// password. The known forges also expect a password, even if git has not contacted them yet.
    var takesBearer: Bool {
        guard capabilities.contains("authtype") else { return false }
        if challenges.isEmpty { return url.map { !TokenUsername.isForge($0.host) } ?? true }
        return challenges.contains { $0.hasScheme("bearer") }
    }

    var refused: Secret? {
        authenticationScheme.lowercased() == "bearer" ? credential ?? password : password
    }
}

extension String {
    /// Returns whether a challenge has a scheme (RFC 9110, section 11.6.1). Its parameters may contain any text.
    fileprivate func hasScheme(_ scheme: String) -> Bool {
        prefix { $0 != " " && $0 != "," }.lowercased() == scheme
    }
}
