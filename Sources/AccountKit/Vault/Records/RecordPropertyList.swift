import AccountSupport

/// Reads a binary property list, directly from memory that may contain secrets.
///
/// The reader checks every offset, and limits the depth and the number of values, so any input results in values or an error.
/// AccountKit does not use the decoder of FoundationEssentials for archives, because its conformance lookups in the Swift
/// runtime took longer than all other steps of reading an archive. Source of the layout: CFBinaryPList.c of
/// swift-corelibs-foundation.
package struct RecordPropertyList {
    package struct Malformed: Error {
        /// The reason, which completes the sentence "it is damaged: …".
        package let reason: String

        package init(_ reason: String) { self.reason = reason }
    }

    /// The maximum nesting depth of a record: far deeper than any profile, and small enough for the smallest stack of a
    /// thread (512 KiB, on Apple systems).
    static let maximumDepth = 128

    static let unusable = Malformed("it contains a value that no profile can have")

    package static let equalKeys = Malformed("two keys of a dictionary are equal, or differ only in their Unicode form")

    private let bytes: UnsafeRawBufferPointer
    private let maximumDepth: Int

    /// Whether the list is the record of an archive, whose strings are escaped; see ``escape(_:)``.
    private let isRecord: Bool

    private let offsetByteCount: Int
    private let referenceByteCount: Int
    private let objectCount: Int
    private let tableOffset: Int
    private let top: Int

    /// The number of values that may still be read. Each reference takes at least one byte, so a list with more
    /// references than bytes shares elements.
    private var remainingCount: Int

    /// Reads the record of an archive like `PropertyListDecoder`, except for escaped strings.
    static func read(_ bytes: UnsafeRawBufferPointer) throws(Malformed) -> [String: ProfileValue] {
        var reader = try RecordPropertyList(bytes, maximumDepth: maximumDepth, isRecord: true)
        guard case .dictionary(let fields) = try reader.value(at: reader.top, depth: 0) else { throw unusable }
        return fields
    }

    /// Checks that a decoder can read a list, however deep it is.
    package static func check(_ bytes: UnsafeRawBufferPointer, maximumDepth: Int) throws(Malformed) {
        var reader = try RecordPropertyList(bytes, maximumDepth: maximumDepth, isRecord: false)
        _ = try reader.value(at: reader.top, depth: 0)
    }

    /// Parses the trailer.
    private init(_ bytes: UnsafeRawBufferPointer, maximumDepth: Int, isRecord: Bool) throws(Malformed) {
        let trailer = bytes.count - 32
        guard trailer > 8, bytes.starts(with: "bplist00".utf8) else { throw Malformed("it is truncated") }
        self.bytes = bytes
        self.maximumDepth = maximumDepth
        self.isRecord = isRecord
        remainingCount = bytes.count
        offsetByteCount = Int(bytes[trailer + 6])
        referenceByteCount = Int(bytes[trailer + 7])
        let place = { (index: Int) throws(Malformed) in
            try Self.integer(Self.bits(of: bytes, at: index, byteCount: 8, before: bytes.count))
        }
        objectCount = try place(trailer + 8)
        top = try place(trailer + 16)
        tableOffset = try place(trailer + 24)
        guard (1...8).contains(offsetByteCount), (1...8).contains(referenceByteCount), tableOffset > 8,
            tableOffset < trailer, objectCount > 0, objectCount <= (trailer - tableOffset) / offsetByteCount
        else { throw Malformed("its trailer is not valid, so it is truncated or changed") }
    }

    // MARK: Values

    private mutating func value(at index: Int, depth: Int) throws(Malformed) -> ProfileValue {
        remainingCount -= 1
        guard remainingCount >= 0 else { throw Malformed("it contains too many values") }
        guard depth <= maximumDepth else { throw Malformed("values are nested too deeply, or contain themselves") }
        guard index < objectCount else { throw Malformed("it refers to a missing value") }
        let start = try Self.integer(
            Self.bits(
                of: bytes, at: tableOffset + index * offsetByteCount, byteCount: offsetByteCount, before: bytes.count))
        guard start >= 8, start < tableOffset else { throw Malformed("a value lies outside the list") }
        switch bytes[start] >> 4 {
        case 0x4: return .data(Data(self[try content(at: start, unit: 1)]))
        case 0x5, 0x6: return .string(try string(at: start))
        case 0xA: return .array(try array(content(at: start, unit: referenceByteCount), depth: depth))
        case 0xD: return .dictionary(try dictionary(content(at: start, unit: 2 * referenceByteCount), depth: depth))
        default: return try scalar(at: start)
        }
    }

    private func scalar(at start: Int) throws(Malformed) -> ProfileValue {
        switch bytes[start] {
        case 0x08: return .boolean(false)
        case 0x09: return .boolean(true)
        case 0x10...0x12: return .integer(Int64(try bits(at: start + 1, byteCount: 1 << (bytes[start] & 0xF))))
        // Integers of 8 and 16 bytes are signed.
        case 0x13: return .integer(Int64(bitPattern: try bits(at: start + 1, byteCount: 8)))
        case 0x14:
            let high = Int64(bitPattern: try bits(at: start + 1, byteCount: 8))
            let value = Int128(high) << 64 | Int128(try bits(at: start + 9, byteCount: 8))
            return Int64(exactly: value).map { .integer($0) } ?? .real(Double(value))
        case 0x22: return number(Double(Float(bitPattern: UInt32(try bits(at: start + 1, byteCount: 4)))))
        case 0x23: return number(Double(bitPattern: try bits(at: start + 1, byteCount: 8)))
        case 0x33:
            let seconds = Double(bitPattern: try bits(at: start + 1, byteCount: 8))
            return .date(Date(timeIntervalSinceReferenceDate: seconds))
        case 0x80...0x8F: throw Malformed("it contains a reference (UID), which only keyed archives may contain")
        default: throw Malformed("a value has a type that is not supported")
        }
    }

    /// See ``ProfileValue``.
    private func number(_ real: Double) -> ProfileValue { Int64(exactly: real).map { .integer($0) } ?? .real(real) }

    private func string(at start: Int) throws(Malformed) -> String {
        if bytes[start] >> 4 == 0x5 {
            let text = self[try content(at: start, unit: 1)]
            // Combine all bytes before the comparison, which checks many bytes at a time.
            guard text.reduce(0, |) < 0x80 else { throw Malformed("a string is not ASCII") }
            return String(decoding: text, as: UTF8.self)
        }
        let range = try content(at: start, unit: 2)
        let units = stride(from: range.lowerBound, to: range.upperBound, by: 2).map {
            UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1])
        }
        guard let text = String(validating: units, as: UTF16.self) else { throw Malformed("a string is not UTF-16") }
        return text
    }

    private mutating func array(_ references: Range<Int>, depth: Int) throws(Malformed) -> [ProfileValue] {
        let count = references.count / referenceByteCount
        var values: [ProfileValue] = []
        values.reserveCapacity(count)
        for index in 0..<count {
            guard let value = try element(index, of: references, depth: depth) else { throw Self.unusable }
            values.append(value)
        }
        return values
    }

    /// Reads references to all keys, followed by references to all values.
    private mutating func dictionary(
        _ references: Range<Int>, depth: Int
    ) throws(Malformed) -> [String: ProfileValue] {
        let count = references.count / referenceByteCount / 2
        var fields = [String: ProfileValue](minimumCapacity: count)
        for index in 0..<count {
            guard case .string(let name) = try element(index, of: references, depth: depth, isKey: true) else {
                throw Malformed("a key is not a string")
            }
            let value = try element(count + index, of: references, depth: depth)
            // A decoder would drop one of the values.
            guard fields[name] == nil else { throw Self.equalKeys }
            fields[name] = value
        }
        return fields
    }

    /// Reads an element. Returns `nil` for the string that a record contains in place of a missing value.
    private mutating func element(
        _ index: Int, of references: Range<Int>, depth: Int, isKey: Bool = false
    ) throws(Malformed) -> ProfileValue? {
        let start = references.lowerBound + index * referenceByteCount
        let value = try value(at: Self.integer(bits(at: start, byteCount: referenceByteCount)), depth: depth + 1)
        guard isRecord, case .string(let text) = value else { return value }
        return text == "$null" && !isKey ? nil : .string(Self.unescape(text))
    }

    // MARK: Bytes

    /// Returns the range of an object's content. The low half of the marker at `start` is the count, or 15 if the count
    /// follows as an integer.
    private func content(at start: Int, unit: Int) throws(Malformed) -> Range<Int> {
        var first = start + 1
        var count = Int(bytes[start] & 0xF)
        if count == 0xF {
            guard first < tableOffset, (0x10...0x13).contains(bytes[first]) else {
                throw Malformed("a length is not a number")
            }
            let byteCount = 1 << Int(bytes[first] & 0xF)
            count = try Self.integer(bits(at: first + 1, byteCount: byteCount))
            first += 1 + byteCount
        }
        guard first <= tableOffset, count <= (tableOffset - first) / unit else {
            throw Malformed("a value is truncated")
        }
        return first..<first + count * unit
    }

    private subscript(range: Range<Int>) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[range]) }

    /// Reads a big-endian number.
    private func bits(at index: Int, byteCount: Int) throws(Malformed) -> UInt64 {
        try Self.bits(of: bytes, at: index, byteCount: byteCount, before: tableOffset)
    }

    private static func bits(
        of bytes: UnsafeRawBufferPointer, at index: Int, byteCount: Int, before end: Int
    ) throws(Malformed) -> UInt64 {
        guard index <= end - byteCount else { throw Malformed("a value is truncated") }
        var result: UInt64 = 0
        for position in index..<index + byteCount { result = result << 8 | UInt64(bytes[position]) }
        return result
    }

    private static func integer(_ bits: UInt64) throws(Malformed) -> Int {
        guard let result = Int32(exactly: bits) else { throw Malformed("a length or place is too large") }
        return Int(result)
    }
}

extension RecordPropertyList {
    /// Escapes a string in the record of an archive. `PropertyListEncoder` writes "$null" for nil, so
    /// `PropertyListDecoder` decodes every string "$null" as nil, even a user name, and fails for an element or a key.
    /// Therefore a string of dollar signs and `null` gets one more dollar sign, which the reader removes.
    static func escape(_ text: String) -> String { dollarCount(text) > 0 ? "$" + text : text }

    private static func unescape(_ text: String) -> String { dollarCount(text) > 1 ? String(text.dropFirst()) : text }

    /// Returns the number of dollar signs before `null`; 0 for any other text.
    private static func dollarCount(_ text: String) -> Int {
        guard text.utf8.first == UInt8(ascii: "$") else { return 0 }
        let dollars = text.utf8.prefix { $0 == UInt8(ascii: "$") }
        return text.utf8.dropFirst(dollars.count).elementsEqual("null".utf8) ? dollars.count : 0
    }
}
