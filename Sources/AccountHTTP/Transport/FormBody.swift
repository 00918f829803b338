import AccountKit
import AccountCrypto

/// A form, encoded byte by byte so that secrets never become strings (WHATWG URL, section 5.2; RFC 6749, appendix B).
struct FormBody: Sendable {
    private(set) var bytes = WipedBytes()
    private(set) var secrets: [Secret] = []

    mutating func append(_ name: String, _ value: String) {
        appendName(name)
        Self.encode(value.utf8, into: &bytes)
    }

    mutating func append(_ name: String, _ value: Secret) {
        secrets.append(value)
        appendName(name)
        value.withUnsafeBytes { Self.encode($0, into: &bytes) }
    }

    private mutating func appendName(_ name: String) {
        if !bytes.isEmpty { bytes.append(UInt8(ascii: "&")) }
        Self.encode(name.utf8, into: &bytes)
        bytes.append(UInt8(ascii: "="))
    }

    /// - Parameter kept: Characters that stay as they are, in addition to those of the standard.
    static func encode(_ value: some Sequence<UInt8>, keeping kept: String = "", into bytes: inout WipedBytes) {
        for byte in value {
            switch byte {
            case _ where kept.utf8.contains(byte): bytes.append(byte)
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "*"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"):
                bytes.append(byte)
            case UInt8(ascii: " "):
                bytes.append(UInt8(ascii: "+"))
            default:
                bytes.append(UInt8(ascii: "%"))
                bytes.append(digits[Int(byte >> 4)])
                bytes.append(digits[Int(byte & 15)])
            }
        }
    }

    private static let digits = Array("0123456789ABCDEF".utf8)
}
