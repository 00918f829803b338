extension StringProtocol {
    /// Whether all servers read this part of a path, between two slashes, as one name.
    ///
    /// Some servers decode a path more than once, remove path parameters (`;x`, RFC 3986, section 3.3) or trailing dots
    /// and spaces, or collapse empty parts. To such a server, `..;x`, `%252e%252e` or `a%255cb` can lead elsewhere.
    package var isPlainPathSegment: Bool {
        var bytes = Array(utf8)
        while true {
            let name = bytes.prefix { $0 != UInt8(ascii: ";") }
            guard name.contains(where: { $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: " ") }),
                bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "\\") }),
                String(validating: bytes, as: UTF8.self) != nil
            else { return false }
            let decoded = bytes.percentDecodedOnce
            // Each decoding makes the text shorter, so this ends.
            if decoded.count == bytes.count { return true }
            bytes = decoded
        }
    }
}

extension [UInt8] {
    /// The bytes with each valid percent encoding decoded. A percent sign without two digits stays, as on servers that
    /// tolerate it.
    fileprivate var percentDecodedOnce: [UInt8] {
        var result: [UInt8] = []
        var rest = self[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
            if byte == UInt8(ascii: "%"), digits.count == 2 {
                result.append(UInt8(digits[0] << 4 | digits[1]))
                rest = rest.dropFirst(2)
            } else {
                result.append(byte)
            }
        }
        return result
    }
}
