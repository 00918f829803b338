/// A JSON value as text (RFC 8259), for passing on or changing a document without decoding all of it.
///
/// Unlike ``JSONValue``, it keeps the order of members, spaces, and numbers of any size.
package struct JSONText: Sendable, Hashable {
    /// The text, without spaces around it.
    package let bytes: ArraySlice<UInt8>

    /// Checks a complete text. `nil` if it is not valid JSON in UTF-8, or has more levels than `depthLimit`.
    package init?(_ text: ArraySlice<UInt8>, depthLimit: Int = JSONReader.depthLimit) {
        let range = text.withUnsafeBytes { text in
            let checked = JSONReader.checked(text, depthLimit: depthLimit, valueLimit: .max)
            return checked.flatMap { $0.reader.isUTF8 ? $0.value : nil }
        }
        guard let range else { return nil }
        bytes = text.part(range)
    }

    package init?(_ text: [UInt8]) { self.init(text[...]) }

    private init(valid bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    /// Returns the text of a string.
    package init(string: String) {
        var text: [UInt8] = [UInt8(ascii: "\"")]
        for byte in string.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): text += [UInt8(ascii: "\\"), byte]
            case 0..<0x20:
                let digits = Array("0123456789abcdef".utf8)
                text += Array("\\u00".utf8) + [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            default: text.append(byte)
            }
        }
        bytes = (text + [UInt8(ascii: "\"")])[...]
    }

    /// Returns the text of an array.
    package init(array elements: [JSONText]) {
        var text: [UInt8] = [UInt8(ascii: "[")]
        for (index, element) in elements.enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            text += element.bytes
        }
        bytes = (text + [UInt8(ascii: "]")])[...]
    }

    /// Returns the text of an object.
    package init(members: [(name: String, value: JSONText)]) {
        var text: [UInt8] = [UInt8(ascii: "{")]
        for (index, member) in members.enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            text += JSONText(string: member.name).bytes
            text.append(UInt8(ascii: ":"))
            text += member.value.bytes
        }
        bytes = (text + [UInt8(ascii: "}")])[...]
    }

    /// Returns the text of an integer.
    package init(integer: Int) { bytes = Array("\(integer)".utf8)[...] }

    /// Returns this object with another value for the members with a name.
    package func setting(_ name: String, to value: JSONText) -> JSONText {
        var text: [UInt8] = []
        var end = bytes.startIndex
        for member in Members(of: self) where member.name.isString(name) {
            text += bytes[end..<member.value.bytes.startIndex]
            text += value.bytes
            end = member.value.bytes.endIndex
        }
        return JSONText(valid: (text + bytes[end...])[...])
    }

    package var isObject: Bool { bytes.first == UInt8(ascii: "{") }
    package var isArray: Bool { bytes.first == UInt8(ascii: "[") }
    package var isNull: Bool { bytes.first == UInt8(ascii: "n") }
    package var isNumber: Bool { bytes.first.map { $0 == UInt8(ascii: "-") || 0x30...0x39 ~= $0 } ?? false }

    /// The value of a boolean; `nil` for any other value.
    package var boolean: Bool? {
        switch bytes.first {
        case UInt8(ascii: "t"): true
        case UInt8(ascii: "f"): false
        default: nil
        }
    }

    /// The value of a string; `nil` for any other value, and for a string with half of a surrogate pair.
    package var string: String? {
        bytes.withUnsafeBytes { text in
            let reader = JSONReader(text)
            return reader.string(0..<text.count).flatMap { reader.decoded(string: $0) }
        }
    }

    /// The members of an object in their order; empty for any other value.
    package var members: [Member] { Array(Members(of: self)) }

    package struct Member: Sendable, Hashable {
        package let name: JSONText
        package let value: JSONText
    }

    /// The members of an object in their order, which are read one at a time. A long text has more members than memory
    /// should keep.
    package struct Members: Sequence, IteratorProtocol {
        private var parts: Parts

        package init(of text: JSONText) { parts = Parts(bytes: text.bytes, isAtEnd: !text.isObject) }

        package mutating func next() -> Member? {
            guard let member = parts.next({ $0.member() }) else { return nil }
            let name = member.name.lowerBound - 1..<member.name.upperBound + 1
            return Member(
                name: JSONText(valid: parts.bytes.part(name)), value: JSONText(valid: parts.bytes.part(member.value)))
        }
    }

    /// The elements of an array; empty for any other value.
    package var elements: [JSONText] { Array(Elements(of: self)) }

    /// The elements of an array, which are read one at a time as in ``Members``.
    package struct Elements: Sequence, IteratorProtocol {
        private var parts: Parts

        package init(of text: JSONText) { parts = Parts(bytes: text.bytes, isAtEnd: !text.isArray) }

        package mutating func next() -> JSONText? {
            guard let element = parts.next({ $0.value() }), !element.isEmpty else { return nil }
            return JSONText(valid: parts.bytes.part(element))
        }
    }

    /// The parts of an object or array, of which the next begins at an index.
    private struct Parts {
        let bytes: ArraySlice<UInt8>
        var isAtEnd: Bool
        var index = 1

        mutating func next<Part>(_ read: (inout JSONReader) -> Part?) -> Part? {
            guard !isAtEnd else { return nil }
            let start = index
            let part: Part?
            (part, isAtEnd, index) = bytes.withUnsafeBytes { text in
                var reader = JSONReader(text, at: start)
                let part = read(&reader)
                return (part, part == nil || !reader.take(","), reader.index)
            }
            return part
        }
    }

    /// Returns the member with a name. Of several, the last counts, as in most parsers.
    package subscript(_ name: String) -> JSONText? {
        var value: JSONText?
        for member in Members(of: self) where member.name.isString(name) { value = member.value }
        return value
    }

    /// Returns whether this is a string with a text. Unlike a comparison with ``string``, it usually creates no string.
    package func isString(_ text: String) -> Bool {
        guard bytes.first == UInt8(ascii: "\"") else { return false }
        let own = bytes.dropFirst().dropLast()
        return own.contains(UInt8(ascii: "\\")) ? string == text : own.elementsEqual(text.utf8)
    }
}

extension ArraySlice<UInt8> {
    /// The bytes at a range of indices that begin with 0.
    fileprivate func part(_ range: Range<Int>) -> Self {
        self[startIndex + range.lowerBound..<startIndex + range.upperBound]
    }
}
