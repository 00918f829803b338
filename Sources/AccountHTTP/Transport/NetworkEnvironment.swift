import AccountKit
import AccountSupport

/// The environment variables for the network, interpreted as in curl(1) because there is no standard. A loopback
/// connection never uses a proxy.
struct NetworkEnvironment: Sendable, Equatable {
    enum Route: Sendable, Equatable {
        case direct
        case proxy(ProxyAddress)
        case impossible(String)
    }

    struct Variable: Sendable, Equatable {
        var name: String
        var value: String
    }

    /// The value of `HTTPS_PROXY`, otherwise of `ALL_PROXY`, parsed immediately because the text may contain a password.
    let proxy: Proxy?

    struct Proxy: Sendable, Equatable {
        var name: String
        var address: Result<ProxyAddress, ProxyAddress.Flaw>
    }

    /// The value of `NO_PROXY`.
    let exceptions: Variable?

    /// The value of `SSL_CERT_FILE`: a file with the certificates to trust instead of the system's certificates, as in
    /// OpenSSL.
    let certificateFile: Variable?

    static let current = NetworkEnvironment { Environment.value($0) }
    static let none = NetworkEnvironment { _ in nil }

    init(_ value: (String) -> String?) {
        func variable(_ names: String...) -> Variable? {
            for name in names {
                if let value = value(name) { return Variable(name: name, value: value) }
            }
            return nil
        }
        proxy = variable("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY").map { variable in
            Proxy(
                name: variable.name,
                address: Result { () throws(ProxyAddress.Flaw) in try ProxyAddress(variable.value) })
        }
        exceptions = variable("no_proxy", "NO_PROXY")
        certificateFile = variable("SSL_CERT_FILE")
    }

    func route(to url: ServiceURL) -> Route {
        guard let proxy, url.scheme == "https", !url.isLoopback, !isException(url) else { return .direct }
        return switch proxy.address {
        case .success(let address): .proxy(address)
        case .failure(let flaw): .impossible("\(proxy.name) \(flaw.text)")
        }
    }

    func isException(_ url: ServiceURL) -> Bool {
        guard let exceptions else { return false }
        return exceptions.value.split { $0 == "," || $0 == " " }.contains { ProxyException($0).matches(url) }
    }

    func certificateProblem() -> String? {
        guard let certificateFile else { return nil }
        let start = "SSL_CERT_FILE names \(certificateFile.value), which "
        do throws(SystemCallError) {
            guard let status = try SystemCall.targetStatus(certificateFile.value) else {
                return start + "is missing" + Self.advice
            }
            guard status.kind == .regular, SystemCall.isReadable(certificateFile.value) else {
                return start + "is not a readable file" + Self.advice
            }
            let file = try FileDescriptor.openForReading(certificateFile.value, followingLinks: true)
            let bytes = try file.read(limit: Self.certificateLimit, expected: status.byteCount)
            return Self.flaw(ofCertificates: bytes, in: certificateFile.value).map { start + $0 }
        } catch {
            return start + "is not readable (\(error.reason))" + Self.advice
        }
    }

    private static let certificateLimit = 16 << 20

    private static let advice = ": set SSL_CERT_FILE to a file with certificates, or unset it"

    /// Returns why a file contains no certificates to trust, with the command that helps; `nil` if it contains some (RFC 7468,
    /// section 5).
    static func flaw(ofCertificates bytes: [UInt8], in path: String) -> String? {
        guard bytes.contains(where: { ![0x09, 0x0A, 0x0D, 0x20].contains($0) }) else {
            return "is empty" + advice
        }
        let text = bytes[...]
        guard text.firstRange(of: Array("-----BEGIN ".utf8)) != nil,
            text.firstRange(of: Array("CERTIFICATE-----".utf8)) != nil
        else {
            let isDER = bytes.count > 2 && bytes[0] == 0x30 && bytes[1] & 0x80 == 0x80
            let target = path + ".pem"
            return isDER
                ? "is in the binary format DER instead of PEM: convert it with `openssl x509 -inform der -in \(path.shellWord) -out "
                    + "\(target.shellWord)`, and set SSL_CERT_FILE=\(target.shellWord)"
                : "contains no certificate in the format PEM (-----BEGIN CERTIFICATE-----): set SSL_CERT_FILE to a file with "
                    + "certificates, or unset it"
        }
        return nil
    }

    func settings(for url: ServiceURL) -> [NetworkSetting] {
        var settings: [NetworkSetting] = []
        if let proxy {
            let (effect, problem): (String, String?) =
                switch route(to: url) {
                case .proxy: ("used for \(url.authority)", nil)
                case .impossible(let problem): ("cannot reach \(url.authority)", problem)
                case .direct where isException(url): ("not used: \(exceptions?.name ?? "") names \(url.authority)", nil)
                case .direct: ("not used: \(url.authority) is on this machine", nil)
                }
            settings.append(
                NetworkSetting(
                    variable: proxy.name, value: (try? proxy.address.get())?.description ?? "not an address",
                    effect: effect,
                    problem: problem))
        }
        if let exceptions {
            settings.append(
                NetworkSetting(
                    variable: exceptions.name, value: exceptions.value, effect: "hosts without a proxy", problem: nil
                ))
        }
        if let certificateFile {
            settings.append(
                NetworkSetting(
                    variable: certificateFile.name, value: certificateFile.value,
                    effect: "trusted certificates, instead of the system's",
                    problem: certificateProblem()))
        }
        return settings
    }
}

/// The address of a proxy: `http://host:port`, with a user name and password if the proxy requires them, or
/// `socks5://host:port`.
struct ProxyAddress: Sendable, Equatable {
    enum Kind: Sendable, Hashable { case http, socks }

    enum Flaw: Error, Equatable {
        case scheme(String)
        case malformed
        case socksCredentials

        var text: String {
            switch self {
            case .scheme(let scheme):
                "has the scheme \(scheme): only http:// and socks5:// proxies are supported (an http:// proxy serves "
                    + "https:// addresses too)"
            case .malformed: "is not a proxy address: use http://host:port"
            case .socksCredentials: "has a user name, which is not supported for a socks5:// proxy"
            }
        }
    }

    let kind: Kind
    let host: String
    let port: Int

    /// The user name and the password, separated by a colon (RFC 7617).
    let credentials: Secret?

    init(_ text: String) throws(Flaw) {
        let separator = text.utf8.firstRange(of: "://".utf8)
        switch separator.map({ text[..<$0.lowerBound].lowercased() }) {
        case nil, "http"?: kind = .http
        // Desktops write `socks` for a proxy of version 5.
        case "socks5"?, "socks5h"?, "socks"?: kind = .socks
        // Don't show other text: it may be a password.
        case let scheme?
        where scheme == "socks4" || scheme == "socks4a" || scheme.allSatisfy({ $0.isASCII && $0.isLetter }):
            throw .scheme(scheme)
        case _?: throw .malformed
        }
        var rest = separator.map { text[$0.upperBound...] } ?? text[...]
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        if let at = rest.lastIndex(of: "@") {
            guard let user = String(percentEncoded: rest[..<at]) else { throw .malformed }
            credentials = Secret(user.contains(":") ? user : user + ":")
            rest = rest[rest.index(after: at)...]
        } else {
            credentials = nil
        }
        // Parse the address as a URL: the rules for the host are the same, and only the default port differs.
        guard !rest.isEmpty, let url = try? ServiceURL("https://\(rest)"), url.path.isEmpty, url.query == nil else {
            throw .malformed
        }
        guard kind == .http || credentials == nil else { throw .socksCredentials }
        host = url.host.hasPrefix("[") ? String(url.host.dropFirst().dropLast()) : url.host
        port = url.port ?? (rest.hasSuffix(":443") ? 443 : kind == .http ? 80 : 1080)
    }
}

extension ProxyAddress: CustomStringConvertible {
    var description: String {
        let host = host.contains(":") ? "[\(host)]" : host
        return "\(kind == .http ? "http" : "socks5")://\(credentials == nil ? "" : "…@")\(host):\(port)"
    }
}

/// An entry of `NO_PROXY`: a domain and its subdomains, an address, a block (RFC 4632, section 3.1), or `*`.
private struct ProxyException {
    private let host: Substring
    private let port: Int?

    init(_ text: Substring) {
        let entry = text.lowercased()[...]
        // In an IPv6 address without brackets, a colon does not begin a port.
        if let colon = entry.lastIndex(of: ":"), !entry.hasSuffix("]"),
            entry.hasPrefix("[") || entry.firstIndex(of: ":") == colon,
            let port = Int(entry[entry.index(after: colon)...])
        {
            (host, self.port) = (entry[..<colon], port)
        } else {
            (host, port) = (entry, nil)
        }
    }

    func matches(_ url: ServiceURL) -> Bool {
        if host == "*" { return true }
        if let port, port != url.port ?? 443 { return false }
        let name = Self.withoutBrackets(url.host)
        if let address = IPAddress(name) {
            let block = host.split(separator: "/", maxSplits: 1)
            guard let base = block.first.flatMap({ IPAddress(Self.withoutBrackets($0)) }) else { return false }
            guard block.count == 2 else { return base == address }
            return Int(block[1]).map { address.begins(as: base, bits: $0) } ?? false
        }
        let domain = host.hasPrefix(".") ? host.dropFirst() : host.hasPrefix("*.") ? host.dropFirst(2) : host
        return !domain.isEmpty && (name == domain || name.hasSuffix("." + domain))
    }

    private static func withoutBrackets(_ host: some StringProtocol) -> String {
        host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : String(host)
    }
}
