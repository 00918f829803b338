package import AccountCrypto

/// Reads a binary property list object by object, directly from memory that may contain secrets. This type copies bytes
/// only on request.
///
/// The reader checks every offset, and limits the depth and the number of objects, so any input results in objects or
/// an error. AccountKit does not use the decoder of FoundationEssentials, because its conformance lookups in the Swift
/// runtime took longer than all other steps of reading an archive. Source of the layout: CFBinaryPList.c of
/// swift-corelibs-foundation.
package struct BinaryPropertyList {
    package struct Malformed: Error {
        /// The reason, which completes the sentence "it is damaged: …".
        package let reason: String

        package init(_ reason: String) { self.reason = reason }
    }

    /// An object. A range contains the position of its content, and ``References`` the positions of its elements.
    package enum Object {
        case null
        case boolean(Bool)
        case integer(Int128)
        case real(Double)
        case date(secondsSince2001: Double)
        case data(Range<Int>)
        case ascii(Range<Int>)
        case utf16(Range<Int>)
        case array(References)
        /// A dictionary, as references to all keys, followed by references to all values.
        case dictionary(References)
    }

    package struct References {
        fileprivate let start: Int
        package let count: Int
    }

    private let bytes: UnsafeRawBufferPointer
    private let maximumDepth: Int
    private let offsetByteCount: Int
    private let referenceByteCount: Int
    private let objectCount: Int
    private let tableOffset: Int

    /// The number of objects that may still be read. Each reference takes at least one byte, so a list with more
    /// references than bytes shares elements.
    private var remainingCount: Int

    /// The number of the root object.
    package let top: Int

    /// Parses the trailer. The bytes must outlive the reader.
    package init(_ bytes: UnsafeRawBufferPointer, maximumDepth: Int) throws(Malformed) {
        let trailer = bytes.count - 32
        guard trailer > 8, bytes.starts(with: "bplist00".utf8) else { throw Malformed("it is truncated") }
        self.bytes = bytes
        self.maximumDepth = maximumDepth
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

    package mutating func object(at index: Int, depth: Int) throws(Malformed) -> Object {
        remainingCount -= 1
        guard remainingCount >= 0 else { throw Malformed("it contains too many values") }
        guard depth <= maximumDepth else { throw Malformed("values are nested too deeply, or contain themselves") }
        guard index < objectCount else { throw Malformed("it refers to a missing value") }
        let start = try Self.integer(
            Self.bits(
                of: bytes, at: tableOffset + index * offsetByteCount, byteCount: offsetByteCount, before: bytes.count))
        guard start >= 8, start < tableOffset else { throw Malformed("a value lies outside the list") }
        let size = bytes[start] & 0xF
        switch (bytes[start] >> 4, size) {
        case (0x0, 0x0): return .null
        case (0x0, 0x8): return .boolean(false)
        case (0x0, 0x9): return .boolean(true)
        case (0x1, 0...2): return .integer(Int128(try bits(at: start + 1, byteCount: 1 << size)))
        // Integers of 8 and 16 bytes are signed.
        case (0x1, 3): return .integer(Int128(Int64(bitPattern: try bits(at: start + 1, byteCount: 8))))
        case (0x1, 4):
            let high = Int64(bitPattern: try bits(at: start + 1, byteCount: 8))
            return .integer(Int128(high) << 64 | Int128(try bits(at: start + 9, byteCount: 8)))
        case (0x2, 2):
            return .real(Double(Float(bitPattern: UInt32(truncatingIfNeeded: try bits(at: start + 1, byteCount: 4)))))
        case (0x2, 3): return .real(Double(bitPattern: try bits(at: start + 1, byteCount: 8)))
        case (0x3, 3): return .date(secondsSince2001: Double(bitPattern: try bits(at: start + 1, byteCount: 8)))
        case (0x4, _): return .data(try content(at: start, unit: 1))
        case (0x5, _): return .ascii(try content(at: start, unit: 1))
        case (0x6, _): return .utf16(try content(at: start, unit: 2))
        case (0x8, _): throw Malformed("it contains a reference (UID), which only keyed archives may contain")
        case (0xA, _): return .array(references(try content(at: start, unit: referenceByteCount)))
        case (0xD, _): return .dictionary(references(try content(at: start, unit: 2 * referenceByteCount)))
        default: throw Malformed("a value is of an unknown kind")
        }
    }

    package func element(_ index: Int, of references: References) throws(Malformed) -> Int {
        try Self.integer(bits(at: references.start + index * referenceByteCount, byteCount: referenceByteCount))
    }

    private func references(_ range: Range<Int>) -> References {
        References(start: range.lowerBound, count: range.count / referenceByteCount)
    }

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

extension BinaryPropertyList {
    package subscript(range: Range<Int>) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[range]) }

    package func string(ascii range: Range<Int>) throws(Malformed) -> String {
        // Combine all bytes before the comparison, which checks many bytes at a time.
        guard self[range].reduce(0, |) < 0x80 else { throw Malformed("a string is not ASCII") }
        return String(decoding: self[range], as: UTF8.self)
    }

    /// Returns a string in UTF-8.
    package func text(utf16 range: Range<Int>) throws(Malformed) -> WipedBytes {
        let units = stride(from: range.lowerBound, to: range.upperBound, by: 2).lazy.map {
            UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1])
        }
        var text = WipedBytes(capacity: range.count)
        let isBroken = transcode(units.makeIterator(), from: UTF16.self, to: UTF8.self, stoppingOnError: true) {
            text.append($0)
        }
        if isBroken { throw Malformed("a string is not UTF-16") }
        return text
    }
}
