import AccountKit
import AccountCrypto

/// A body of type `application/x-www-form-urlencoded`, made byte by byte so that secrets never become strings.
///
/// Source: WHATWG URL, section 5.2; RFC 6749, appendix B.
struct FormBody: Sendable {
    private(set) var bytes = WipedBytes()
    /// What no error may repeat.
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

extension String {
    /// `nil` if the percent-encoding (RFC 3986, section 2.1) is malformed, or the text is not UTF-8.
    init?(percentEncoded text: some StringProtocol) {
        var bytes: [UInt8] = []
        var rest = text.utf8.makeIterator()
        func digit() -> UInt8? {
            rest.next().flatMap { Character(Unicode.Scalar($0)).hexDigitValue }.map { UInt8($0) }
        }
        while let byte = rest.next() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = digit(), let low = digit() else { return nil }
            bytes.append(high << 4 | low)
        }
        self.init(validating: bytes, as: UTF8.self)
    }
}
