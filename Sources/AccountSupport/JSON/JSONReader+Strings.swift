package import AccountCrypto

extension JSONReader {
    /// Returns the range between the quotation marks of a value, or `nil` if the value is not a string.
    package func string(_ value: Range<Int>) -> Range<Int>? {
        guard value.count >= 2, text[value.lowerBound] == UInt8(ascii: "\"") else { return nil }
        return value.lowerBound + 1..<value.upperBound - 1
    }

    /// Returns the range if its value is a whole number without a sign.
    package func digits(_ value: Range<Int>) -> Range<Int>? {
        guard !value.isEmpty, text[value].allSatisfy({ 0x30...0x39 ~= $0 }),
            value.count == 1 || text[value.lowerBound] != UInt8(ascii: "0")
        else { return nil }
        return value
    }

    /// Decodes the escapes in a string (RFC 8259, section 7). Returns `nil` if an escape is invalid, such as half of a
    /// surrogate pair, or if the string contains a control character.
    package func unescaped(_ string: Range<Int>) -> WipedBytes? {
        var result = WipedBytes(capacity: string.count)
        var index = string.lowerBound
        while index < string.upperBound {
            guard text[index] >= 0x20 else { return nil }
            guard text[index] == UInt8(ascii: "\\") else {
                result.append(text[index])
                index += 1
                continue
            }
            if let (scalar, count) = escapedScalar(at: index) {
                result.append(contentsOf: Array(String(scalar).utf8))
                index += count
            } else {
                guard let byte = Self.escaped(text[index + 1]) else { return nil }
                result.append(byte)
                index += 2
            }
        }
        return result
    }

    /// The byte that a backslash and a mark stand for; `nil` for an invalid escape.
    static func escaped(_ mark: UInt8) -> UInt8? {
        switch mark {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): mark
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: nil
        }
    }

    /// Returns the text of a string. Returns `nil` if an escape is invalid.
    package func decoded(string: Range<Int>) -> String? {
        let bytes = text[string]
        guard bytes.contains(UInt8(ascii: "\\")) else { return String(decoding: bytes, as: UTF8.self) }
        return unescaped(string).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the positions of the escapes of half a surrogate pair, such as `\ud83d` without `\ude00`. A service that
    /// shortens a text may cut a pair, and decoders then reject the whole document (RFC 8259, section 8.2). Each escape has
    /// six bytes.
    package static func loneSurrogates(in text: UnsafeRawBufferPointer) -> [Int] {
        let reader = JSONReader(text)
        var lone: [Int] = []
        var index = 0
        while let start = text[index...].firstIndex(of: UInt8(ascii: "\\")) {
            if reader.escapedUnit(at: start) == nil {
                index = min(start + 2, text.count)
            } else if let (_, count) = reader.escapedScalar(at: start) {
                index = start + count
            } else {
                lone.append(start)
                index = start + 6
            }
        }
        return lone
    }

    /// Returns the scalar of an escape such as `\u00e9`, or of two for a surrogate pair, and their number of bytes.
    private func escapedScalar(at index: Int) -> (Unicode.Scalar, count: Int)? {
        guard let first = escapedUnit(at: index) else { return nil }
        if let scalar = Unicode.Scalar(first) { return (scalar, 6) }
        guard UTF16.isLeadSurrogate(first), let second = escapedUnit(at: index + 6), UTF16.isTrailSurrogate(second),
            let scalar = String(decoding: [first, second], as: UTF16.self).unicodeScalars.first
        else { return nil }
        return (scalar, 12)
    }

    func escapedUnit(at index: Int) -> UInt16? {
        guard index + 6 <= text.count, text[index] == UInt8(ascii: "\\"), text[index + 1] == UInt8(ascii: "u") else {
            return nil
        }
        var unit: UInt16 = 0
        for byte in text[index + 2..<index + 6] {
            guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { return nil }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }
}
