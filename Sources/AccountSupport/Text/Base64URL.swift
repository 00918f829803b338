extension Sequence<UInt8> {
    /// The bytes in Base64, with padding (RFC 4648, section 4).
    package var base64: String { Data(self).base64EncodedString() }
}

/// Base64URL without padding (RFC 4648, section 5; RFC 7515, section 2).
package enum Base64URL {
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        bytes.base64.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// Decodes a string. Returns `nil` if the string contains other characters or padding.
    package static func decode(_ text: some Collection<UInt8>) -> Data? {
        var base64 = Data(capacity: text.count + 3)
        for byte in text {
            switch byte {
            case UInt8(ascii: "-"): base64.append(UInt8(ascii: "+"))
            case UInt8(ascii: "_"): base64.append(UInt8(ascii: "/"))
            case UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="): return nil
            default: base64.append(byte)
            }
        }
        base64.append(contentsOf: repeatElement(UInt8(ascii: "="), count: (4 - text.count % 4) % 4))
        return Data(base64Encoded: base64)
    }

    /// Returns 43 characters that encode 32 random bytes.
    package static func random() -> String {
        encode((0..<32).map { _ in UInt8.random(in: .min ... .max) })
    }
}
