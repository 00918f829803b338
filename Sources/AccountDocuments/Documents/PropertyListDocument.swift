import AccountKit
import AccountSupport

enum PropertyListDocument {
    /// The reason why a property list is unreadable, which completes the sentence "it cannot be used: …". The text does not
    /// quote the content.
    typealias Unreadable = RecordPropertyList.Malformed

    /// The maximum depth of nested values. It is limited because the decoder uses the stack.
    private static let maximumDepth = 64

    static func encode(_ value: some Codable, format: DocumentFormat) throws(AccountError) -> Data {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = format == .xml ? .xml : .binary
        do {
            var data = try encoder.encode(value)
            if format == .xml { data = try wellFormed(data) }
            // Detect values that the encoder writes but the decoder rejects, such as the text "$null".
            _ = try decode(type(of: value), from: [UInt8](data))
            return data
        } catch let error as AccountError {
            throw error
        } catch let error as Unreadable {
            throw AccountError(
                .invalidArgument, "the value cannot be saved, because it could not be read again: \(error.reason)")
        } catch {
            throw AccountError(.invalidArgument, "the value cannot be saved as a property list", cause: error)
        }
    }

    /// Replaces carriage returns, which a parser would read as line feeds (XML 1.0, section 2.11).
    ///
    /// - Throws: `invalidArgument` for characters that XML cannot contain (section 2.2), although the encoder writes them.
    private static func wellFormed(_ xml: Data) throws(AccountError) -> Data {
        let isWellFormed = xml.withUnsafeBytes { bytes in
            bytes.indices.allSatisfy { index in
                switch bytes[index] {
                case 0x9, 0xA, 0xD, 0x20..<0xEF, 0xF0...: true
                // U+FFFE and U+FFFF in UTF-8.
                case 0xEF:
                    !bytes[index...].starts(with: [0xEF, 0xBF, 0xBE])
                        && !bytes[index...].starts(with: [0xEF, 0xBF, 0xBF])
                default: false
                }
            }
        }
        guard isWellFormed else {
            throw AccountError(
                .invalidArgument,
                "the value cannot be saved as an XML property list: a text contains a control character",
                hint: "remove this character from the text")
        }
        guard xml.contains(UInt8(ascii: "\r")) else { return xml }
        return Data(xml.flatMap { $0 == UInt8(ascii: "\r") ? Array("&#13;".utf8) : [$0] })
    }

    static func decode<Value: Decodable>(_ type: Value.Type, from document: [UInt8]) throws(Unreadable) -> Value {
        let bytes = DocumentFormat(of: document) == .xml ? withLineFeeds(document) : document
        try check(bytes)
        do {
            return try PropertyListDecoder().decode(type, from: Data(bytes))
        } catch let error as DecodingError {
            throw Unreadable(error.place)
        } catch {
            throw Unreadable("it is not a property list")
        }
    }

    /// Returns XML with the ends of lines that a parser must use (XML 1.0, section 2.11), unlike the decoder.
    private static func withLineFeeds(_ xml: [UInt8]) -> [UInt8] {
        guard xml.contains(UInt8(ascii: "\r")) else { return xml }
        var isAfterReturn = false
        return xml.compactMap { byte in
            defer { isAfterReturn = byte == UInt8(ascii: "\r") }
            if byte == UInt8(ascii: "\n"), isAfterReturn { return nil }
            return byte == UInt8(ascii: "\r") ? UInt8(ascii: "\n") : byte
        }
    }

    // MARK: Checks before decoding

    private static func check(_ bytes: [UInt8]) throws(Unreadable) {
        switch DocumentFormat(of: bytes) {
        case .binary:
            try bytes.withUnsafeBufferPointer { bytes throws(Unreadable) in
                try RecordPropertyList.check(UnsafeRawBufferPointer(bytes), maximumDepth: maximumDepth)
            }
        case .xml: try check(xml: bytes)
        }
    }

    /// Checks the depth of arrays and dictionaries, and their keys.
    ///
    /// The limits of comments, instructions and tags are those of the decoder: if this method skipped more than the
    /// decoder, it would not see arrays that exhaust the stack. Therefore, it rejects encodings other than UTF-8,
    /// declarations in the document type, which no property list has, and `<?>`, which the decoder treats as complete.
    /// A list in a list would use the stack, too, and the decoder would ignore a list after another one.
    private static func check(xml bytes: [UInt8]) throws(Unreadable) {
        var rest = bytes[...].withoutByteOrderMark.drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
        let isUTF16 = rest.starts(with: [0xFF, 0xFE]) || rest.starts(with: [0xFE, 0xFF])
        guard isUTF16 || rest.first == UInt8(ascii: "<") else { throw Unreadable("it is not a property list") }
        guard !isUTF16, !bytes.contains(0), String(validating: bytes, as: UTF8.self) != nil else {
            throw Unreadable("it is not UTF-8: save it with this encoding")
        }
        /// The keys of the open arrays and dictionaries. Arrays have none.
        var open: [Set<String>] = []
        var hasList = false
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
            } else if rest.starts(with: "<?>".utf8) {
                throw Unreadable("it has an empty processing instruction: remove `<?>` from it")
            } else if rest.starts(with: "<?".utf8) {
                skip("<?", past: "?>")
            } else {
                let tag = rest.prefix { $0 != UInt8(ascii: ">") }
                if tag.starts(with: "<!".utf8), tag.contains(UInt8(ascii: "[")) {
                    throw Unreadable("it has declarations of its own document type: remove them")
                } else if tag.starts(with: "<plist".utf8) {
                    guard !hasList else { throw Unreadable("it contains more than one property list: keep only one") }
                    hasList = true
                } else if tag.starts(with: "<array".utf8) || tag.starts(with: "<dict".utf8) {
                    guard open.count < maximumDepth else { throw Unreadable("values are nested too deeply") }
                    if tag.last != UInt8(ascii: "/") { open.append([]) }
                } else if tag.starts(with: "</array".utf8) || tag.starts(with: "</dict".utf8) {
                    _ = open.popLast()
                } else if tag.starts(with: "<key".utf8), !open.isEmpty {
                    let key = try Self.key(in: rest[tag.endIndex...].dropFirst())
                    guard open[open.count - 1].insert(key).inserted else { throw RecordPropertyList.equalKeys }
                }
                rest = rest[tag.endIndex...]
            }
        }
    }

    /// Returns the key at the beginning of XML text as the decoder reads it.
    private static func key(in xml: ArraySlice<UInt8>) throws(Unreadable) -> String {
        let text = xml.prefix { $0 != UInt8(ascii: "<") }
        guard !xml[text.endIndex...].starts(with: "<!".utf8) else {
            throw Unreadable("a key contains a CDATA section or a comment: convert the file to a list without them")
        }
        let parts = text.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
        var key = String(decoding: parts[0], as: UTF8.self)
        for part in parts.dropFirst() {
            let name = part.prefix { $0 != UInt8(ascii: ";") }
            guard name.endIndex < part.endIndex, let scalar = Self.scalar(of: String(decoding: name, as: UTF8.self))
            else {
                throw Unreadable("a key contains an unknown entity: convert the file to a list without it")
            }
            key.unicodeScalars.append(scalar)
            key += String(decoding: part[name.endIndex...].dropFirst(), as: UTF8.self)
        }
        return key
    }

    /// Returns the character of a reference (XML 1.0, sections 4.1 and 4.6), such as `amp` or `#38`.
    private static func scalar(of reference: String) -> Unicode.Scalar? {
        switch reference {
        case "amp": "&"
        case "lt": "<"
        case "gt": ">"
        case "quot": "\""
        case "apos": "'"
        case _ where reference.hasPrefix("#x"): UInt32(reference.dropFirst(2), radix: 16).flatMap(Unicode.Scalar.init)
        case _ where reference.hasPrefix("#"): UInt32(reference.dropFirst()).flatMap(Unicode.Scalar.init)
        default: nil
        }
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
            case .dataCorrupted(let context) where context.underlyingError is PropertyListDocument.Unreadable:
                (context, context.debugDescription)
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
