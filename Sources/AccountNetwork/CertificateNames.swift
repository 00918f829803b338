import AccountSupport
import NIOSSL

/// The names of a server in its certificate (RFC 9525, sections 6.3 and 6.4). The common name of the subject is not one of them.
///
/// NIOSSL compares the addresses in a certificate with the address of the connection, whatever host the user named, and falls back to the
/// common name. An attacker with control over name resolution and a certificate for an own address could then answer in place of a service.
struct CertificateNames: Sendable, Equatable {
    /// The DNS names, as in the certificate. Each may begin with a wildcard label.
    var hosts: [String] = []

    var addresses: [IPAddress] = []

    init(hosts: [String] = [], addresses: [IPAddress] = []) {
        self.hosts = hosts
        self.addresses = addresses
    }

    init(_ certificate: NIOSSLCertificate) {
        for name in certificate._subjectAlternativeNames() {
            let bytes = name.contents.withUnsafeBufferPointer { Array($0) }
            switch name.nameType {
            case .dnsName: hosts.append(String(decoding: bytes, as: UTF8.self))
            case .ipAddress: IPAddress(bytes: bytes).map { addresses.append($0) }
            default: continue
            }
        }
    }

    /// Returns whether the certificate is for the host of a URL. An address must be in the certificate as an address, and a name as a name.
    ///
    /// - Parameter host: A name or an IPv4 address in any case, or an IPv6 address in brackets.
    func contain(_ host: String) -> Bool {
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        if let address = IPAddress(isBracketed ? String(host.dropFirst().dropLast()) : host) {
            return addresses.contains(address)
        }
        let labels = Self.labels(of: host)
        return hosts.contains { Self.matches(Self.labels(of: $0), labels) }
    }

    private static func labels(of name: String) -> [Substring] {
        let name = name.hasSuffix(".") ? name.dropLast() : name[...]
        return name.lowercased().split(separator: ".", omittingEmptySubsequences: false)
    }

    /// A wildcard is the complete leftmost label, represents exactly one label, and precedes at least two others, as curl requires.
    private static func matches(_ pattern: [Substring], _ host: [Substring]) -> Bool {
        guard pattern.count == host.count, !host.contains("") else { return false }
        guard pattern.first == "*" else { return pattern == host }
        return pattern.count >= 3 && pattern.dropFirst() == host.dropFirst()
    }
}
