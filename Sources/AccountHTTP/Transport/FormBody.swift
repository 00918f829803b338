package import AccountKit
package import Sealing

/// A body of type `application/x-www-form-urlencoded`, put together byte by byte so that secrets never become strings.
///
/// Source: WHATWG URL, section 5.2; RFC 6749, appendix B.
package struct FormBody: Sendable {
    /// The encoded body.
    package private(set) var bytes = WipedBytes()

    /// The secrets in the body: what no error may repeat.
    package private(set) var secrets: [Secret] = []

    package init() {}

    /// Adds a field.
    package mutating func append(_ name: String, _ value: String) {
        appendName(name)
        appendEncoded(value.utf8)
    }

    /// Adds a field with a secret.
    package mutating func append(_ name: String, _ value: Secret) {
        secrets.append(value)
        appendName(name)
        value.withUnsafeBytes { appendEncoded($0) }
    }

    private mutating func appendName(_ name: String) {
        if !bytes.isEmpty { bytes.append(UInt8(ascii: "&")) }
        appendEncoded(name.utf8)
        bytes.append(UInt8(ascii: "="))
    }

    private mutating func appendEncoded(_ value: some Sequence<UInt8>) { Self.encode(value, into: &bytes) }

    /// Adds bytes as they stand in a form.
    static func encode(_ value: some Sequence<UInt8>, into bytes: inout WipedBytes) {
        for byte in value {
            switch byte {
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
