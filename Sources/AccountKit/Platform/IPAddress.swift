#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// An IPv4 or IPv6 address.
package struct IPAddress: Sendable, Hashable {
    private let bytes: [UInt8]

    /// Reads an address in dotted-decimal form or as RFC 4291, section 2.2, writes it, without brackets.
    package init?(_ text: String) {
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, text, &bytes) == 1 {
            self.bytes = Array(bytes.prefix(4))
        } else if inet_pton(AF_INET6, text, &bytes) == 1 {
            self.bytes = bytes
        } else {
            return nil
        }
    }

    package func begins(as other: IPAddress, bits: Int) -> Bool {
        guard bytes.count == other.bytes.count, 0...(bytes.count * 8) ~= bits else { return false }
        return zip(bytes, other.bytes).enumerated().allSatisfy { index, pair in
            let left = min(max(bits - index * 8, 0), 8)
            return (pair.0 ^ pair.1) >> (8 - left) == 0
        }
    }

    /// Whether a connection to the address stays on this machine (RFC 1122, section 3.2.1.3; RFC 4291, section 2.5.3).
    package var isLoopback: Bool {
        bytes.count == 4 ? bytes[0] == 127 : bytes == [UInt8](repeating: 0, count: 15) + [1]
    }
}

/// The host of a URL that stands for this machine.
package enum LoopbackHost {
    /// A name that AccountKit never looks up: it connects to ``addresses``, whatever a hosts file or a name server says.
    package static let name = "localhost"

    /// The addresses of ``name``, in the order in which they are tried (RFC 6761, section 6.3).
    package static let addresses = ["127.0.0.1", "[::1]"]

    /// Whether a connection to a host stays on this machine.
    ///
    /// - Parameter host: In lower case; an IPv6 address in brackets. A name that only looks like an address is none.
    package static func contains(_ host: some StringProtocol) -> Bool {
        if host == name { return true }
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        guard isBracketed || !host.contains(":") else { return false }
        return IPAddress(isBracketed ? String(host.dropFirst().dropLast()) : String(host))?.isLoopback ?? false
    }
}
