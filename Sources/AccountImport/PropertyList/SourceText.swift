extension SourceBytes {
    /// Calls `body` with the UTF-8 bytes of a text, one after the other.
    func forEachByte(
        of text: SourceText, _ body: (UInt8) throws(ImportFault) -> Void
    ) throws(ImportFault) {
        switch text {
        case .ascii(let range): try forEachASCIIByte(in: range, body)
        case .utf16BigEndian(let range): try forEachUTF16Byte(in: range, body)
        case .xml(let range): try forEachXMLByte(in: range, body)
        case .made(let string): for byte in string.utf8 { try body(byte) }
        }
    }

    private func forEachASCIIByte(
        in range: Range<Int>, _ body: (UInt8) throws(ImportFault) -> Void
    ) throws(ImportFault) {
        for index in range {
            guard let byte = self[index], byte < 0x80 else { throw .damaged("a text is not ASCII") }
            try body(byte)
        }
    }

    private func forEachUTF16Byte(
        in range: Range<Int>, _ body: (UInt8) throws(ImportFault) -> Void
    ) throws(ImportFault) {
        var index = range.lowerBound
        while index < range.upperBound {
            guard var scalar = utf16Unit(at: index) else { throw .damaged("a text is cut off") }
            index += 2
            if scalar & 0xFC00 == 0xD800 {
                guard index < range.upperBound, let low = utf16Unit(at: index), low & 0xFC00 == 0xDC00 else {
                    throw .damaged("a text is not UTF-16")
                }
                index += 2
                scalar = 0x10000 + (scalar & 0x3FF) << 10 + (low & 0x3FF)
            }
            try Self.encode(scalar, body)
        }
    }

    private func utf16Unit(at index: Int) -> UInt32? {
        guard let high = self[index], let low = self[index + 1] else { return nil }
        return UInt32(high) << 8 | UInt32(low)
    }

    private func forEachXMLByte(
        in range: Range<Int>, _ body: (UInt8) throws(ImportFault) -> Void
    ) throws(ImportFault) {
        var index = range.lowerBound
        while index < range.upperBound {
            guard let byte = self[index] else { throw .damaged("a text is cut off") }
            if byte == UInt8(ascii: "<"), starts(with: "<![CDATA[", at: index) {
                index += 9
                while !starts(with: "]]>", at: index) {
                    guard index < range.upperBound, let byte = self[index] else { throw .damaged("a text is cut off") }
                    try body(byte)
                    index += 1
                }
                index += 3
                continue
            }
            index += 1
            if byte == UInt8(ascii: "&") {
                try Self.encode(try scalar(ofEntityAt: &index, before: range.upperBound), body)
            } else {
                try body(byte)
            }
        }
    }

    /// The character that an entity stands for; `index` is after the `&`, and afterwards after the `;`.
    private func scalar(ofEntityAt index: inout Int, before end: Int) throws(ImportFault) -> UInt32 {
        var name = ""
        while index < end, name.utf8.count < 10, let byte = self[index], byte < 0x80 {
            index += 1
            if byte == UInt8(ascii: ";") { break }
            name.unicodeScalars.append(Unicode.Scalar(byte))
        }
        guard self[index - 1] == UInt8(ascii: ";") else { throw .damaged("an entity has no end") }
        switch name {
        case "lt": return 0x3C
        case "gt": return 0x3E
        case "amp": return 0x26
        case "apos": return 0x27
        case "quot": return 0x22
        default:
            let digits = name.hasPrefix("#x") ? name.dropFirst(2) : name.dropFirst(1)
            guard name.hasPrefix("#"), digits.first?.isHexDigit == true,
                let scalar = UInt32(digits, radix: name.hasPrefix("#x") ? 16 : 10), scalar > 0
            else { throw .damaged("an entity is not known") }
            return scalar
        }
    }

    private static func encode(
        _ value: UInt32, _ body: (UInt8) throws(ImportFault) -> Void
    ) throws(ImportFault) {
        guard let scalar = Unicode.Scalar(value) else { throw .damaged("a character is not Unicode") }
        for byte in UTF8.encode(scalar)! { try body(byte) }
    }
}

extension UInt8 {
    /// Whether it is white space in XML.
    var isXMLSpace: Bool { self == 0x20 || self == 0x09 || self == 0x0A || self == 0x0D }
}
