#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

struct IPAddress: Sendable, Hashable {
    private let bytes: [UInt8]

    init?(_ text: String) {
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, text, &bytes) == 1 {
            self.bytes = Array(bytes.prefix(4))
        } else if inet_pton(AF_INET6, text, &bytes) == 1 {
            self.bytes = bytes
        } else {
            return nil
        }
    }

    func begins(as other: IPAddress, bits: Int) -> Bool {
        guard bytes.count == other.bytes.count, 0...(bytes.count * 8) ~= bits else { return false }
        return zip(bytes, other.bytes).enumerated().allSatisfy { index, pair in
            let left = min(max(bits - index * 8, 0), 8)
            return (pair.0 ^ pair.1) >> (8 - left) == 0
        }
    }
}
