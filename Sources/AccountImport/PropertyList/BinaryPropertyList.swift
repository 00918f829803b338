import AccountKit

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Reads a binary property list, in which a keyed archive has its references as UIDs of their own.
///
/// The decoder of FoundationEssentials does not give UIDs out. Source of the layout: CFBinaryPList.c of
/// swift-corelibs-foundation, format "bplist00".
struct BinaryPropertyList {
    static let signature: StaticString = "bplist"
    private static let trailerByteCount = 32

    private let source: SourceBytes
    private let offsetByteCount: Int
    private let referenceByteCount: Int
    private let objectCount: Int
    private let tableOffset: Int
    private var remainingValues = ImportLimits.valueCount

    /// The whole list, from its top object on.
    static func read(_ source: SourceBytes) throws(ImportFault) -> LegacyValue {
        guard source.count > 8 else { throw .damaged("it is cut off") }
        guard source.starts(with: "bplist00") else {
            throw ImportFault(
                code: .unsupportedVersion,
                message: "It is a binary property list of another version than 00; convert it with `plutil`.")
        }
        var list = try BinaryPropertyList(source)
        let top = try list.integer(at: source.count - 16, byteCount: 8)
        return try list.value(at: top, depth: 0)
    }

    private init(_ source: SourceBytes) throws(ImportFault) {
        let trailer = source.count - Self.trailerByteCount
        guard trailer > 8, let offsetByteCount = source[trailer + 6], let referenceByteCount = source[trailer + 7]
        else { throw .damaged("it is cut off") }
        self.source = source
        self.offsetByteCount = Int(offsetByteCount)
        self.referenceByteCount = Int(referenceByteCount)
        objectCount = try Self.integer(in: source, at: trailer + 8, byteCount: 8)
        tableOffset = try Self.integer(in: source, at: trailer + 24, byteCount: 8)
        guard (1...8).contains(self.offsetByteCount), (1...8).contains(self.referenceByteCount),
            tableOffset > 8, tableOffset < trailer, objectCount > 0,
            objectCount <= (trailer - tableOffset) / self.offsetByteCount
        else { throw .damaged("its end is not that of a binary property list, so it is cut off or changed") }
    }

    private mutating func value(at index: Int, depth: Int) throws(ImportFault) -> LegacyValue {
        guard depth <= ImportLimits.depth else { throw .damaged("values are nested too deeply, or hold themselves") }
        remainingValues -= 1
        guard remainingValues >= 0 else { throw .damaged("it holds too many values") }

        let start = try offset(of: index)
        let marker = try byte(at: start)
        switch (marker >> 4, marker & 0xF) {
        case (0x0, 0x0): return .null
        case (0x0, 0x8): return .boolean(false)
        case (0x0, 0x9): return .boolean(true)
        case (0x1, 0...4): return .integer(try number(at: start + 1, byteCount: 1 << (marker & 0xF)))
        case (0x2, 2):
            return .real(Double(Float(bitPattern: UInt32(truncatingIfNeeded: try bits(at: start + 1, byteCount: 4)))))
        case (0x2, 3): return .real(Double(bitPattern: try bits(at: start + 1, byteCount: 8)))
        case (0x3, 3):
            let seconds = Double(bitPattern: try bits(at: start + 1, byteCount: 8))
            return .date(Date(timeIntervalSinceReferenceDate: seconds))
        case (0x4, let size): return .data(.raw(try content(of: size, at: start, unit: 1)))
        case (0x5, let size): return .text(.ascii(try content(of: size, at: start, unit: 1)))
        case (0x6, let size): return .text(.utf16BigEndian(try content(of: size, at: start, unit: 2)))
        case (0x8, 0...7):
            guard let place = Int32(exactly: try bits(at: start + 1, byteCount: Int(marker & 0xF) + 1)) else {
                throw .damaged("a reference is out of range")
            }
            return .reference(Int(place))
        case (0xA, let size):
            let references = try content(of: size, at: start, unit: referenceByteCount)
            return try array(references, depth: depth)
        case (0xD, let size):
            let references = try content(of: size, at: start, unit: 2 * referenceByteCount)
            return try dictionary(references, depth: depth)
        default: throw .damaged("a value is of an unknown kind")
        }
    }

    private mutating func array(_ references: Range<Int>, depth: Int) throws(ImportFault) -> LegacyValue {
        var values: [LegacyValue] = []
        for position in stride(from: references.lowerBound, to: references.upperBound, by: referenceByteCount) {
            values.append(try value(at: try integer(at: position, byteCount: referenceByteCount), depth: depth + 1))
        }
        return .array(values)
    }

    /// All keys stand first, then all values.
    private mutating func dictionary(_ references: Range<Int>, depth: Int) throws(ImportFault) -> LegacyValue {
        var values: [String: LegacyValue] = [:]
        let half = references.count / 2
        for position in stride(from: references.lowerBound, to: references.upperBound - half, by: referenceByteCount) {
            let key = try value(at: try integer(at: position, byteCount: referenceByteCount), depth: depth + 1)
            guard case .text(let text) = key else { throw .damaged("a key is not a text") }
            let name = try source.string(text, limit: ImportLimits.keyByteCount)
            let index = try integer(at: position + half, byteCount: referenceByteCount)
            guard values.updateValue(try value(at: index, depth: depth + 1), forKey: name) == nil else {
                throw .damaged("a key stands there twice")
            }
        }
        return .dictionary(values)
    }

    /// Where the content of a value is, whose marker at `start` has `size` as its low half: a count, or 15 if the count
    /// follows as an integer.
    private func content(of size: UInt8, at start: Int, unit: Int) throws(ImportFault) -> Range<Int> {
        var first = start + 1
        var count = Int(size)
        if size == 0xF {
            let marker = try byte(at: first)
            guard (0x10...0x13).contains(marker) else { throw .damaged("a length is not a number") }
            let byteCount = 1 << Int(marker & 0xF)
            count = try integer(at: first + 1, byteCount: byteCount)
            first += 1 + byteCount
        }
        guard first <= tableOffset, count <= (tableOffset - first) / unit else { throw .damaged("a value is cut off") }
        return first..<first + count * unit
    }

    private func offset(of index: Int) throws(ImportFault) -> Int {
        guard index < objectCount else { throw .damaged("it refers to a value that is not there") }
        let offset = try integer(at: tableOffset + index * offsetByteCount, byteCount: offsetByteCount)
        guard offset >= 8, offset < tableOffset else { throw .damaged("a value lies outside the file") }
        return offset
    }
}

// MARK: Numbers

extension BinaryPropertyList {
    private func byte(at index: Int) throws(ImportFault) -> UInt8 {
        guard index < tableOffset, let byte = source[index] else { throw .damaged("a value is cut off") }
        return byte
    }

    /// The big-endian bytes of a value.
    private func bits(at index: Int, byteCount: Int) throws(ImportFault) -> UInt64 {
        guard index + byteCount <= tableOffset else { throw .damaged("a value is cut off") }
        return try Self.bits(in: source, at: index, byteCount: byteCount)
    }

    private static func bits(in source: SourceBytes, at index: Int, byteCount: Int) throws(ImportFault) -> UInt64 {
        var result: UInt64 = 0
        for position in index..<index + byteCount {
            guard let byte = source[position] else { throw .damaged("a number is cut off") }
            result = result << 8 | UInt64(byte)
        }
        return result
    }

    /// A count, an offset or a reference.
    private func integer(at index: Int, byteCount: Int) throws(ImportFault) -> Int {
        try Self.integer(in: source, at: index, byteCount: byteCount)
    }

    private static func integer(in source: SourceBytes, at index: Int, byteCount: Int) throws(ImportFault) -> Int {
        let bits = try bits(in: source, at: index, byteCount: byteCount)
        guard let result = Int32(exactly: bits) else { throw .damaged("a length or place is too large") }
        return Int(result)
    }

    /// A whole number: of 1, 2 and 4 bytes without sign, of 8 and 16 bytes with one.
    private func number(at index: Int, byteCount: Int) throws(ImportFault) -> Int128 {
        switch byteCount {
        case 16:
            let high = try bits(at: index, byteCount: 8)
            let low = try bits(at: index + 8, byteCount: 8)
            return Int128(Int64(bitPattern: high)) << 64 | Int128(low)
        case 8: return Int128(Int64(bitPattern: try bits(at: index, byteCount: 8)))
        default: return Int128(try bits(at: index, byteCount: byteCount))
        }
    }
}
