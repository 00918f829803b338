import AccountKit
import AccountSupport

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

enum PropertyListDocument {
    /// The reason why a property list is unreadable, which completes the sentence "it is damaged: …". The text does not
    /// quote the content.
    typealias Unreadable = RecordPropertyList.Malformed

    /// The maximum depth of nested values. It is limited because the decoder uses the stack.
    private static let maximumDepth = 64

    static func encode(_ value: some Codable, format: DocumentFormat) throws(AccountError) -> Data {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = format == .xml ? .xml : .binary
        do {
            let data = try encoder.encode(value)
            // Detect values that the encoder writes but the decoder rejects, such as the text "$null".
            _ = try decode(type(of: value), from: [UInt8](data))
            return data
        } catch let error as Unreadable {
            throw AccountError(
                .invalidArgument, "the value cannot be saved, because it could not be read again: \(error.reason)")
        } catch {
            throw AccountError(.invalidArgument, "the value cannot be saved as a property list", cause: error)
        }
    }

    static func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws(Unreadable) -> Value {
        try check(bytes)
        do {
            return try PropertyListDecoder().decode(type, from: Data(bytes))
        } catch let error as DecodingError {
            throw Unreadable(error.place)
        } catch {
            throw Unreadable("it is not a property list")
        }
    }

    // MARK: Checks before decoding

    private static func check(_ bytes: [UInt8]) throws(Unreadable) {
        if bytes.starts(with: "bplist00".utf8) {
            try bytes.withUnsafeBufferPointer { bytes throws(Unreadable) in
                try RecordPropertyList.check(UnsafeRawBufferPointer(bytes), maximumDepth: maximumDepth)
            }
        } else {
            guard try depth(ofXML: bytes) <= maximumDepth else {
                throw Unreadable("values are nested too deeply")
            }
        }
    }

    /// Returns the maximum depth of arrays and dictionaries.
    ///
    /// The limits of comments, instructions and tags are those of the decoder: if this method skipped more than the
    /// decoder, it would not see arrays that exhaust the stack. Therefore, it rejects encodings other than UTF-8, and
    /// declarations in the document type, which no property list has.
    private static func depth(ofXML bytes: [UInt8]) throws(Unreadable) -> Int {
        var rest = bytes[...].withoutByteOrderMark.drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
        let isUTF16 = rest.starts(with: [0xFF, 0xFE]) || rest.starts(with: [0xFE, 0xFF])
        guard isUTF16 || rest.first == UInt8(ascii: "<") else { throw Unreadable("it is not a property list") }
        guard !isUTF16, !bytes.contains(0), String(validating: bytes, as: UTF8.self) != nil else {
            throw Unreadable("it is not UTF-8: save it with this encoding")
        }
        var (depth, deepest) = (0, 0)
        func skip(_ start: String, past end: String) {
            rest = rest.dropFirst(start.utf8.count)
            while !rest.isEmpty, !rest.starts(with: end.utf8) { rest = rest.dropFirst() }
        }
        while let start = rest.firstIndex(of: UInt8(ascii: "<")) {
            rest = rest[start...]
            if rest.starts(with: "<!--".utf8) {
                skip("<!--", past: "-->")
            } else if rest.starts(with: "<![CDATA[".utf8) {
                skip("<![CDATA[", past: "]]>")
            } else if rest.starts(with: "<?".utf8) {
                skip("<?", past: "?>")
            } else {
                let tag = rest.prefix { $0 != UInt8(ascii: ">") }
                if tag.starts(with: "<!".utf8), tag.contains(UInt8(ascii: "[")) {
                    throw Unreadable("it has declarations of its own document type")
                } else if tag.starts(with: "<array".utf8) || tag.starts(with: "<dict".utf8) {
                    deepest = max(deepest, depth + 1)
                    if tag.last != UInt8(ascii: "/") { depth += 1 }
                } else if tag.starts(with: "</array".utf8) || tag.starts(with: "</dict".utf8) {
                    depth -= 1
                }
                rest = rest[tag.endIndex...]
            }
        }
        return deepest
    }
}

extension DecodingError {
    /// The position and the reason of the failure. The text does not quote the value.
    fileprivate var place: String {
        let (context, what): (Context, String) =
            switch self {
            case .keyNotFound(let key, let context): (context, "\"\(key.stringValue)\" is missing")
            case .typeMismatch(_, let context): (context, "a value has the wrong type")
            case .valueNotFound(_, let context): (context, "a value is missing")
            case .dataCorrupted(let context) where context.codingPath.isEmpty:
                (context, "it is not a valid property list")
            case .dataCorrupted(let context): (context, "it does not have the form that this program saves")
            @unknown default:
                (Context(codingPath: [], debugDescription: ""), "it does not have the form that this program saves")
            }
        let path = context.codingPath.map { $0.intValue.map { "\($0 + 1)" } ?? $0.stringValue }
        return path.isEmpty ? what : "at " + path.joined(separator: ", ") + ": " + what
    }
}
