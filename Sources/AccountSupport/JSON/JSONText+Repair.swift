extension JSONText {
    /// Returns a JSON text with strings that decoders accept: bytes that are not UTF-8 become U+FFFD, and control characters in
    /// strings become escapes (RFC 8259, sections 7 and 8.1). Valid text stays unchanged.
    package static func repairingStrings(of text: [UInt8]) -> [UInt8] {
        let isUTF8 = String(validating: text, as: UTF8.self) != nil
        let text = isUTF8 ? text : Array(String(decoding: text, as: UTF8.self).utf8)
        guard text.contains(where: { $0 < 0x20 }) else { return text }
        var repaired: [UInt8] = []
        repaired.reserveCapacity(text.count)
        var (isInString, isEscaped) = (false, false)
        for byte in text {
            if isInString, !isEscaped, byte < 0x20 {
                let digits = String(byte, radix: 16)
                repaired += Array("\\u00\(digits.count < 2 ? "0" : "")\(digits)".utf8)
                continue
            }
            repaired.append(byte)
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\"") {
                isInString.toggle()
            } else {
                isEscaped = isInString && byte == UInt8(ascii: "\\")
            }
        }
        return repaired
    }
}
