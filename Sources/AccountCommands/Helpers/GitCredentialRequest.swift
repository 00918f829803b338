import AccountKit

/// What git asks or tells a credential helper: lines of `key=value` (git-credential(1), "Input/output format").
///
/// Git takes a line that has no `=`, or a NUL, for a mistake; so does this. Keys that are not known are for later versions.
struct GitCredentialRequest {
    private(set) var `protocol` = ""

    /// With the port, if the URL has one.
    private(set) var host = ""

    /// Decoded. Only if git's `credential.useHttpPath` says so.
    private(set) var path = ""
    private(set) var username = ""
    private(set) var password: Secret?

    /// The token of a header that git has sent, with ``authenticationScheme``; from git 2.46 on.
    private(set) var credential: Secret?
    private(set) var authenticationScheme = ""

    /// The `WWW-Authenticate` headers that the server has sent; from git 2.41 on.
    private(set) var challenges: [String] = []
    private(set) var capabilities: [String] = []

    struct Malformed: Error, Equatable {}

    /// Reads to the first empty line, or to the end.
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

    /// An empty value empties the list.
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

    /// No server has as many challenges as that.
    private static let maximumCount = 64
}

extension GitCredentialRequest {
    /// `nil` if no rule can be for it: another protocol, no host, or a host that is none.
    var url: RuleURL? {
        // What is wrong with it is nobody's affair: it is not ours.
        try? RuleURL(scheme: `protocol`, authority: host, path: path)
    }

    /// Whether git can send the token as such, and the server wants it so.
    ///
    /// A server that names its schemes and no `Bearer` among them, as forges do, wants the token as a password; so do the
    /// forges that are known, also where git has not asked them yet.
    var takesBearer: Bool {
        guard capabilities.contains("authtype") else { return false }
        if challenges.isEmpty { return url.map { !TokenUsername.isForge($0.host) } ?? true }
        return challenges.contains { $0.hasScheme("bearer") }
    }

    /// The token that the server did not take.
    var refused: Secret? {
        authenticationScheme.lowercased() == "bearer" ? credential ?? password : password
    }
}

extension String {
    /// Whether a challenge is of a scheme (RFC 9110, section 11.6.1). Its parameters may hold anything.
    fileprivate func hasScheme(_ scheme: String) -> Bool {
        prefix { $0 != " " && $0 != "," }.lowercased() == scheme
    }
}
