import AccountCrypto
import AccountSupport

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Reads the property list of an archive's record like `PropertyListDecoder`, except for ``PropertyListText``.
struct RecordPropertyList {
    typealias Malformed = BinaryPropertyList.Malformed

    /// The maximum nesting depth: far deeper than any profile, and small enough for the smallest stack of a thread (512
    /// KiB, on Apple systems).
    static let maximumDepth = 128

    static let unusable = Malformed("it contains a value that no profile can have")

    private var list: BinaryPropertyList

    static func read(_ bytes: UnsafeRawBufferPointer) throws(Malformed) -> [String: ProfileValue] {
        var reader = RecordPropertyList(list: try BinaryPropertyList(bytes, maximumDepth: maximumDepth))
        guard case .dictionary(let fields) = try reader.value(at: reader.list.top, depth: 0) else { throw unusable }
        return fields
    }

    private mutating func value(at index: Int, depth: Int) throws(Malformed) -> ProfileValue {
        switch try list.object(at: index, depth: depth) {
        case .boolean(let value): return .boolean(value)
        case .integer(let value): return Int64(exactly: value).map { .integer($0) } ?? .real(Double(value))
        // See ``ProfileValue``.
        case .real(let value): return Int64(exactly: value).map { .integer($0) } ?? .real(value)
        case .date(let seconds): return .date(Date(timeIntervalSinceReferenceDate: seconds))
        case .data(let range): return .data(Data(list[range]))
        case .ascii(let range): return .string(try list.string(ascii: range))
        case .utf16(let range): return .string(String(decoding: try list.text(utf16: range), as: UTF8.self))
        case .array(let references): return .array(try array(references, depth: depth))
        case .dictionary(let references): return .dictionary(try dictionary(references, depth: depth))
        case .null: throw Self.unusable
        }
    }

    private mutating func array(
        _ references: BinaryPropertyList.References, depth: Int
    ) throws(Malformed) -> [ProfileValue] {
        var values: [ProfileValue] = []
        values.reserveCapacity(references.count)
        for index in 0..<references.count {
            let value = try value(at: list.element(index, of: references), depth: depth + 1)
            if value.isNothing { throw Self.unusable }
            values.append(value.unescaped)
        }
        return values
    }

    private mutating func dictionary(
        _ references: BinaryPropertyList.References, depth: Int
    ) throws(Malformed) -> [String: ProfileValue] {
        let count = references.count / 2
        var fields = [String: ProfileValue](minimumCapacity: count)
        for index in 0..<count {
            let name = try value(at: list.element(index, of: references), depth: depth + 1)
            let value = try value(at: list.element(count + index, of: references), depth: depth + 1)
            guard case .string(let name) = name.unescaped else { throw Self.unusable }
            let previous = value.isNothing ? fields[name] : fields.updateValue(value.unescaped, forKey: name)
            guard previous == nil else { throw Self.unusable }
        }
        return fields
    }
}

extension ProfileValue {
    fileprivate var isNothing: Bool {
        if case .string("$null") = self { true } else { false }
    }

    fileprivate var unescaped: ProfileValue {
        if case .string(let text) = self { .string(PropertyListText.unescape(text)) } else { self }
    }
}
