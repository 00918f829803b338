#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Reads the binary property list that an archive's record is, into values of a profile.
///
/// The result is `PropertyListDecoder`'s, but for ``PropertyListText``. That one asks the Swift runtime for so many conformances, each of them looked for
/// in the whole program, that it took longer than all the rest of reading an archive.
/// Source of the layout: CFBinaryPList.c of swift-corelibs-foundation, format "bplist00".
struct RecordPropertyList {
    /// It is no property list, or one that no profile can hold.
    struct Malformed: Error {}

    private static let trailerByteCount = 32

    /// Far deeper than any profile, and no deeper than the smallest stack of a thread can hold (512 KiB, on Apple systems).
    static let maximumDepth = 128

    private let bytes: [UInt8]
    private let offsetByteCount: Int
    private let referenceByteCount: Int
    private let objectCount: Int
    private let tableOffset: Int

    /// Each reference takes at least a byte, so there are fewer than bytes; more means that lists share their elements
    /// to look small.
    private var remainingReferences: Int

    /// The entries of the top dictionary.
    static func read(_ bytes: [UInt8]) throws(Malformed) -> [String: ProfileValue] {
        var list = try RecordPropertyList(bytes)
        guard
            case .dictionary(let fields) = try list.value(
                at: list.integer(at: bytes.count - 16, byteCount: 8), depth: 0)
        else { throw Malformed() }
        return fields
    }

    private init(_ bytes: [UInt8]) throws(Malformed) {
        let trailer = bytes.count - Self.trailerByteCount
        guard trailer > 8, bytes.starts(with: "bplist00".utf8) else { throw Malformed() }
        self.bytes = bytes
        offsetByteCount = Int(bytes[trailer + 6])
        referenceByteCount = Int(bytes[trailer + 7])
        objectCount = try Self.integer(in: bytes, at: trailer + 8, byteCount: 8)
        tableOffset = try Self.integer(in: bytes, at: trailer + 24, byteCount: 8)
        remainingReferences = bytes.count
        guard (1...8).contains(offsetByteCount), (1...8).contains(referenceByteCount), tableOffset > 8,
            tableOffset < trailer, objectCount <= (trailer - tableOffset) / offsetByteCount
        else { throw Malformed() }
    }

    private mutating func value(at index: Int, depth: Int) throws(Malformed) -> ProfileValue {
        remainingReferences -= 1
        guard remainingReferences >= 0, depth <= Self.maximumDepth, index < objectCount else { throw Malformed() }
        let start = try integer(at: tableOffset + index * offsetByteCount, byteCount: offsetByteCount)
        guard start >= 8, start < tableOffset else { throw Malformed() }
        let marker = bytes[start]
        let size = marker & 0xF
        switch (marker >> 4, size) {
        case (0x0, 0x8): return .boolean(false)
        case (0x0, 0x9): return .boolean(true)
        case (0x1, 0...4): return try number(at: start + 1, byteCount: 1 << size)
        case (0x2, 2):
            return real(Double(Float(bitPattern: UInt32(truncatingIfNeeded: try bits(at: start + 1, byteCount: 4)))))
        case (0x2, 3): return real(Double(bitPattern: try bits(at: start + 1, byteCount: 8)))
        case (0x3, 3):
            return .date(
                Date(timeIntervalSinceReferenceDate: Double(bitPattern: try bits(at: start + 1, byteCount: 8))))
        case (0x4, _): return .data(Data(bytes[try content(of: size, at: start, unit: 1)]))
        case (0x5, _), (0x6, _): return .string(try text(at: start))
        case (0xA, _):
            return .array(try array(try content(of: size, at: start, unit: referenceByteCount), depth: depth))
        case (0xD, _):
            return .dictionary(
                try dictionary(try content(of: size, at: start, unit: 2 * referenceByteCount), depth: depth))
        default: throw Malformed()
        }
    }

    private mutating func array(_ references: Range<Int>, depth: Int) throws(Malformed) -> [ProfileValue] {
        var values: [ProfileValue] = []
        values.reserveCapacity(references.count / referenceByteCount)
        var position = references.lowerBound
        while position < references.upperBound {
            let value = try value(at: integer(at: position, byteCount: referenceByteCount), depth: depth + 1)
            if value.isNothing { throw Malformed() }
            values.append(value.unescaped)
            position += referenceByteCount
        }
        return values
    }

    /// All keys stand first, then all values.
    private mutating func dictionary(
        _ references: Range<Int>, depth: Int
    ) throws(Malformed) -> [String: ProfileValue] {
        let half = references.count / 2
        var fields = [String: ProfileValue](minimumCapacity: half / referenceByteCount)
        var position = references.lowerBound
        while position < references.lowerBound + half {
            let name = try value(at: integer(at: position, byteCount: referenceByteCount), depth: depth + 1)
            let value = try value(at: integer(at: position + half, byteCount: referenceByteCount), depth: depth + 1)
            guard case .string(let name) = name.unescaped else { throw Malformed() }
            if value.isNothing {
                guard fields[name] == nil else { throw Malformed() }
            } else {
                guard fields.updateValue(value.unescaped, forKey: name) == nil else { throw Malformed() }
            }
            position += referenceByteCount
        }
        return fields
    }

    private func text(at start: Int) throws(Malformed) -> String {
        let isASCII = bytes[start] >> 4 == 0x5
        let range = try content(of: bytes[start] & 0xF, at: start, unit: isASCII ? 1 : 2)
        if isASCII {
            // All of them at once, which is many at a time.
            guard bytes[range].reduce(0, |) < 0x80 else { throw Malformed() }
            return String(decoding: bytes[range], as: UTF8.self)
        }
        var units: [UInt16] = []
        units.reserveCapacity(range.count / 2)
        for position in stride(from: range.lowerBound, to: range.upperBound, by: 2) {
            units.append(UInt16(bytes[position]) << 8 | UInt16(bytes[position + 1]))
        }
        guard let text = String(validating: units, as: UTF16.self) else { throw Malformed() }
        return text
    }

    /// Where the content of a value is, whose marker at `start` has `size` as its low half: a count, or 15 if the count
    /// follows as an integer.
    private func content(of size: UInt8, at start: Int, unit: Int) throws(Malformed) -> Range<Int> {
        var first = start + 1
        var count = Int(size)
        if size == 0xF {
            guard first < tableOffset, (0x10...0x13).contains(bytes[first]) else { throw Malformed() }
            let byteCount = 1 << Int(bytes[first] & 0xF)
            count = try integer(at: first + 1, byteCount: byteCount)
            first += 1 + byteCount
        }
        guard first <= tableOffset, count <= (tableOffset - first) / unit else { throw Malformed() }
        return first..<first + count * unit
    }
}

// MARK: Numbers

extension RecordPropertyList {
    /// A whole number: of 1, 2 and 4 bytes without sign, of 8 and 16 bytes with one.
    private func number(at index: Int, byteCount: Int) throws(Malformed) -> ProfileValue {
        switch byteCount {
        case 16:
            let high = Int64(bitPattern: try bits(at: index, byteCount: 8))
            let whole = Int128(high) << 64 | Int128(try bits(at: index + 8, byteCount: 8))
            return Int64(exactly: whole).map { .integer($0) } ?? .real(Double(whole))
        case 8: return .integer(Int64(bitPattern: try bits(at: index, byteCount: 8)))
        default: return .integer(Int64(try bits(at: index, byteCount: byteCount)))
        }
    }

    /// See ``ProfileValue``.
    private func real(_ value: Double) -> ProfileValue {
        Int64(exactly: value).map { .integer($0) } ?? .real(value)
    }

    /// The big-endian bytes of a value.
    private func bits(at index: Int, byteCount: Int) throws(Malformed) -> UInt64 {
        try Self.bits(in: bytes, at: index, byteCount: byteCount)
    }

    /// A count, an offset or a reference.
    private func integer(at index: Int, byteCount: Int) throws(Malformed) -> Int {
        try Self.integer(in: bytes, at: index, byteCount: byteCount)
    }

    private static func bits(in bytes: [UInt8], at index: Int, byteCount: Int) throws(Malformed) -> UInt64 {
        guard index <= bytes.count - byteCount else { throw Malformed() }
        var result: UInt64 = 0
        for position in index..<index + byteCount { result = result << 8 | UInt64(bytes[position]) }
        return result
    }

    private static func integer(in bytes: [UInt8], at index: Int, byteCount: Int) throws(Malformed) -> Int {
        guard let result = Int32(exactly: try bits(in: bytes, at: index, byteCount: byteCount)) else {
            throw Malformed()
        }
        return Int(result)
    }
}

extension ProfileValue {
    /// Whether it is what encoders of Foundation write where there is nothing.
    fileprivate var isNothing: Bool {
        if case .string("$null") = self { true } else { false }
    }

    /// What stands for a text.
    fileprivate var unescaped: ProfileValue {
        if case .string(let text) = self { .string(PropertyListText.unescape(text)) } else { self }
    }
}
