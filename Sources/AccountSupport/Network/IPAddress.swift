#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

package struct IPAddress: Sendable, Hashable {
    /// 4 or 16 bytes, in network byte order.
    package let bytes: [UInt8]

    /// Parses an IPv4 address in dotted-decimal form, or an IPv6 address without brackets (RFC 4291, section 2.2).
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

    /// - Parameter bytes: 4 or 16 bytes in network byte order; otherwise, the result is `nil`.
    package init?(bytes: [UInt8]) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    package var isIPv6: Bool { bytes.count == 16 }

    /// The address in its canonical form (RFC 5952), without brackets.
    package var text: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        _ = bytes.withUnsafeBytes {
            inet_ntop(isIPv6 ? AF_INET6 : AF_INET, $0.baseAddress, &text, socklen_t(text.count))
        }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
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
        isIPv6 ? bytes == [UInt8](repeating: 0, count: 15) + [1] : bytes[0] == 127
    }

    /// The address in `::ffff:0:0/96` (RFC 4291, section 2.5.5.2).
    package var embeddedIPv4: IPAddress? {
        let prefix = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]
        return isIPv6 && bytes.starts(with: prefix) ? IPAddress(bytes: Array(bytes.suffix(4))) : nil
    }
}
