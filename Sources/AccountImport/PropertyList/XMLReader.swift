import AccountKit
import AccountCrypto

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Reads an XML property list, in which a keyed archive stores references as dictionaries with the single key `CF$UID`.
/// The reader rejects a document that defines entities, because entities can expand or refer to other files.
///
/// FoundationEssentials has a decoder for this format, but it hides the references, overflows the stack on deep
/// nesting, and leaves copies of strings in memory. Source of the format: Apple's PropertyList-1.0.dtd.
struct XMLReader {
    private var scanner: XMLScanner
    private var remainingValues = ImportLimits.valueCount

    static func read(_ bytes: WipedBytes) throws(AccountError) -> LegacyValue {
        var reader = XMLReader(scanner: XMLScanner(bytes))
        try reader.scanner.skipProlog()
        guard try reader.scanner.tag() == .open("plist") else { throw XMLScanner.notPropertyList }
        let value = try reader.value(try reader.scanner.tag(), depth: 0)
        guard try reader.scanner.tag() == .close("plist") else { throw .damaged("there is more than one value") }
        try reader.scanner.expectEnd()
        return value
    }

    private mutating func value(_ tag: XMLScanner.Tag, depth: Int) throws(AccountError) -> LegacyValue {
        guard depth <= ImportLimits.depth else { throw .damaged("values are nested too deeply") }
        remainingValues -= 1
        guard remainingValues >= 0 else { throw .damaged("it contains too many values") }

        switch tag {
        case .empty("true"): return .boolean(true)
        case .empty("false"): return .boolean(false)
        case .empty("string"): return .text(WipedBytes())
        case .empty("array"): return .array([])
        case .empty("dict"): return .dictionary([:])
        case .empty("data"): return .data(WipedBytes())
        case .open("string"):
            let text = try scanner.text(upTo: "string")
            return text.isUTF8 ? .text(text) : .undecodable
        case .open("data"):
            guard let data = WipedBytes(base64: try scanner.text(upTo: "data")) else {
                throw .damaged("data is not base64")
            }
            return .data(data)
        case .open("integer"): return .integer(try integer(try scanner.word(upTo: "integer")))
        case .open("real"):
            guard let value = Double(try scanner.word(upTo: "real")) else {
                throw .damaged("a number contains invalid characters")
            }
            return .real(value)
        case .open("date"):
            guard let date = LegacyDate.calendarDate(try scanner.word(upTo: "date")) else {
                throw .damaged("a date is malformed")
            }
            return .date(date)
        case .open(let name) where name == "true" || name == "false":
            guard try scanner.word(upTo: name).isEmpty else { throw .damaged("a boolean contains text") }
            return .boolean(name == "true")
        case .open("array"): return try array(depth: depth)
        case .open("dict"): return try dictionary(depth: depth)
        default: throw .damaged("a value is missing or of an unknown kind")
        }
    }

    private mutating func array(depth: Int) throws(AccountError) -> LegacyValue {
        var values: [LegacyValue] = []
        while true {
            let tag = try scanner.tag()
            if tag == .close("array") { return .array(values) }
            values.append(try value(tag, depth: depth + 1))
        }
    }

    private mutating func dictionary(depth: Int) throws(AccountError) -> LegacyValue {
        var values: [String: LegacyValue] = [:]
        while true {
            let tag = try scanner.tag()
            if tag == .close("dict") { break }
            guard tag == .open("key") || tag == .empty("key") else { throw .damaged("a key is missing") }
            let key = tag == .empty("key") ? WipedBytes() : try scanner.text(upTo: "key")
            guard key.count <= ImportLimits.keyByteCount, key.isUTF8 else {
                throw .damaged("a key is too long, or not a string")
            }
            let value = try value(try scanner.tag(), depth: depth + 1)
            guard values.updateValue(value, forKey: String(decoding: key, as: UTF8.self)) == nil else {
                throw .damaged("a key occurs twice")
            }
        }
        if values.count == 1, case .integer(let index)? = values["CF$UID"] {
            guard let index = Int32(exactly: index), index >= 0 else { throw .damaged("a reference is out of range") }
            return .reference(Int(index))
        }
        return .dictionary(values)
    }

    private func integer(_ word: String) throws(AccountError) -> Int128 {
        let sign = word.hasPrefix("-") ? "-" : ""
        let digits = word.hasPrefix("-") || word.hasPrefix("+") ? word.dropFirst() : Substring(word)
        let isHexadecimal = digits.hasPrefix("0x") || digits.hasPrefix("0X")
        let number = isHexadecimal ? digits.dropFirst(2) : digits
        guard number.first?.isHexDigit == true, let value = Int128(sign + number, radix: isHexadecimal ? 16 : 10) else {
            throw .damaged("a whole number contains invalid characters, or too many digits")
        }
        return value
    }
}
