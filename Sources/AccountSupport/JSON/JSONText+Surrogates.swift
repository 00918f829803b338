extension JSONText {
    /// The positions of the escapes of half a surrogate pair, such as `\ud83d` without `\ude00`. A service that shortens a
    /// text may cut a pair, and decoders then reject the whole document (RFC 8259, section 8.2). Each escape has six bytes.
    package static func loneSurrogates(in text: some RandomAccessCollection<UInt8>) -> [Int] {
        var lone: [Int] = []
        var high: Int?
        var rest = text[...]
        while let start = rest.firstIndex(of: UInt8(ascii: "\\")) {
            let place = text.distance(from: text.startIndex, to: start)
            let unit = unit(of: text[start...].prefix(6))
            let isTrail = unit.map { UTF16.isTrailSurrogate($0) } ?? false
            let isPair = isTrail && high.map { $0 + 6 } == place
            if let high, !isPair { lone.append(high) }
            if isTrail, !isPair { lone.append(place) }
            high = unit.map { UTF16.isLeadSurrogate($0) } == true ? place : nil
            rest = text[start...].dropFirst(unit == nil ? 2 : 6)
        }
        return lone + (high.map { [$0] } ?? [])
    }

    /// The code unit of an escape such as `\u00e9`; `nil` for other text.
    private static func unit(of escape: some Collection<UInt8>) -> UInt16? {
        let digits = escape.dropFirst(2)
        guard escape.dropFirst().first == UInt8(ascii: "u"), digits.count == 4 else { return nil }
        return UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
    }
}
