/// The host names in URLs that refer to this machine.
package enum LoopbackHost {
    /// A name that AccountKit never looks up. Instead, it connects to ``addresses``, regardless of hosts files and name
    /// servers.
    package static let name = "localhost"

    /// The addresses of ``name``, in the order in which AccountKit tries them (RFC 6761, section 6.3).
    package static let addresses = ["127.0.0.1", "[::1]"]

    /// - Parameter host: The host in lower case. An IPv6 address is in brackets.
    package static func contains(_ host: some StringProtocol) -> Bool {
        if host == name { return true }
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        guard isBracketed || !host.contains(":") else { return false }
        return IPAddress(isBracketed ? String(host.dropFirst().dropLast()) : String(host))?.isLoopback ?? false
    }
}
