/// The host and the port of a URL (RFC 3986, sections 3.2.2 and 3.2.3). The host consists of ASCII letters, digits,
/// `-`, `.` and `_`, or is an IPv6 address in brackets. This syntax is stricter than the RFC where programs parse URLs
/// differently, so that AccountKit connects to the host that it checked.
package struct HostAndPort: Sendable, Hashable {
    /// The host in lower case. An IPv6 address is in brackets, as spelled in the text.
    package let host: String

    /// The port, from 1 to 65,535, or `nil` if the text contains no port, or an empty one.
    package let port: UInt16?

    /// Parses `host`, `host:port`, `[address]` or `[address]:port`. Returns `nil` if the text is malformed.
    package init?(_ text: some StringProtocol) {
        let text = Substring(text)
        guard text.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        let host: Substring
        if text.hasPrefix("[") {
            guard let bracket = text.firstIndex(of: "]"),
                IPAddress(String(text[..<bracket].dropFirst()))?.isIPv6 == true
            else { return nil }
            host = text[...bracket]
        } else {
            host = text.prefix { $0 != ":" }
            guard !host.isEmpty, host.utf8.allSatisfy({ $0.isASCIIAlphanumeric || "-._".utf8.contains($0) }) else {
                return nil
            }
        }
        self.host = host.lowercased()
        let tail = text[host.endIndex...]
        if tail.isEmpty || tail == ":" {
            port = nil
        } else {
            let digits = tail.dropFirst()
            guard tail.first == ":", digits.utf8.allSatisfy({ 48...57 ~= $0 }), let port = UInt16(digits), port > 0
            else {
                return nil
            }
            self.port = port
        }
    }
}
