import AccountKit
import AccountCrypto
import AccountSupport

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Reads a binary property list, in which a keyed archive stores references as UIDs.
struct BinaryReader {
    private var list: BinaryPropertyList
    private var remainingBytes = ImportLimits.copiedByteCount

    static func read(_ bytes: UnsafeRawBufferPointer) throws(AccountError) -> LegacyValue {
        guard bytes.count <= 8 || bytes.starts(with: "bplist00".utf8) else {
            throw AccountError(
                .unsupportedVersion,
                "It is a binary property list of a version that cannot be read; convert it, for example with `plutil -convert xml1`."
            )
        }
        do throws(BinaryPropertyList.Malformed) {
            let list = try BinaryPropertyList(
                bytes, maximumDepth: ImportLimits.depth, maximumCount: ImportLimits.valueCount)
            var reader = BinaryReader(list: list)
            return try reader.value(at: list.top, depth: 0)
        } catch {
            throw .damaged(error.reason)
        }
    }

    private mutating func value(at index: Int, depth: Int) throws(BinaryPropertyList.Malformed) -> LegacyValue {
        switch try list.object(at: index, depth: depth) {
        case .null: return .null
        case .boolean(let value): return .boolean(value)
        case .integer(let value): return .integer(value)
        case .real(let value): return .real(value)
        case .date(let seconds): return .date(Date(timeIntervalSinceReferenceDate: seconds))
        case .data(let range):
            try count(range)
            return .data(WipedBytes(list[range]))
        // `text` throws only if the bytes are not in their encoding.
        case .ascii(let range):
            try count(range)
            return (try? list.text(ascii: range)).map { .text($0) } ?? .undecodable
        case .utf16(let range):
            try count(range)
            return (try? list.text(utf16: range)).map { .text($0) } ?? .undecodable
        case .uid(let place):
            guard let place = Int32(exactly: place) else {
                throw BinaryPropertyList.Malformed("a reference is out of range")
            }
            return .reference(Int(place))
        case .array(let elements):
            var values: [LegacyValue] = []
            for position in 0..<elements.count {
                values.append(try value(at: list.element(position, of: elements), depth: depth + 1))
            }
            return .array(values)
        case .dictionary(let elements):
            var values: [String: LegacyValue] = [:]
            let count = elements.count / 2
            for position in 0..<count {
                let key = try value(at: list.element(position, of: elements), depth: depth + 1)
                guard case .text(let text) = key, text.count <= ImportLimits.keyByteCount else {
                    throw BinaryPropertyList.Malformed("a key is too long, or not a string")
                }
                let value = try value(at: list.element(count + position, of: elements), depth: depth + 1)
                guard values.updateValue(value, forKey: String(decoding: text, as: UTF8.self)) == nil else {
                    throw BinaryPropertyList.Malformed("a key occurs twice")
                }
            }
            return .dictionary(values)
        }
    }

    /// Limits the copied bytes, because a hostile list may refer to the same content many times.
    private mutating func count(_ range: Range<Int>) throws(BinaryPropertyList.Malformed) {
        remainingBytes -= range.count
        guard remainingBytes >= 0 else { throw BinaryPropertyList.Malformed("it repeats its strings too often") }
    }
}
