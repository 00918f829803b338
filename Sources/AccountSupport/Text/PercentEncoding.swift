extension String {
    /// Decodes percent-encoded text (RFC 3986, section 2.1). Returns `nil` if the encoding is malformed, or if the
    /// result is not UTF-8.
    package init?(percentEncoded text: some StringProtocol) {
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

    /// Encodes each byte (RFC 3986, section 2.1), except ASCII letters, digits and `kept`, such as `-._~`.
    package func percentEncoded(keeping kept: StaticString) -> String {
        utf8.reduce(into: "") { result, byte in
            let isKept = kept.withUTF8Buffer { $0.contains(byte) }
            if byte.isASCIIAlphanumeric || isKept {
                result.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                result += "%" + [byte].hexadecimal.uppercased()
            }
        }
    }
}
