extension Collection<UInt8> {
    /// The bytes as lowercase hexadecimal digits (RFC 4648, section 8), two for each byte.
    package var hexadecimal: String {
        String(decoding: flatMap { [UInt8.hexDigit($0 >> 4), .hexDigit($0 & 0xF)] }, as: UTF8.self)
    }
}

extension UInt8 {
    fileprivate static func hexDigit(_ value: UInt8) -> UInt8 {
        value + (value < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
    }
}
