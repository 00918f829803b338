/// A JSON value as text (RFC 8259), for passing on or changing a document without decoding all of it.
///
/// Unlike ``JSONValue``, it keeps the order of members, spaces, and numbers of any size.
package struct JSONText: Sendable, Hashable {
    /// The text, without spaces around it.
    package let bytes: ArraySlice<UInt8>

    /// Checks a complete text. `nil` if it is not valid JSON in UTF-8, or has more levels than `maximumDepth`.
    package init?(_ text: ArraySlice<UInt8>, maximumDepth: Int = 512) {
        var scanner = JSONScanner(text, maximumDepth: maximumDepth)
        scanner.skipSpace()
        let start = scanner.index
        guard scanner.skipValue() else { return nil }
        bytes = text[start..<scanner.index]
        scanner.skipSpace()
        guard scanner.isAtEnd else { return nil }
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
        guard bytes.first == UInt8(ascii: "\"") else { return nil }
        let text = bytes.dropFirst().dropLast()
        guard text.contains(UInt8(ascii: "\\")) else { return String(decoding: text, as: UTF8.self) }
        return Self.unescaped(text)
    }

    /// The members of an object in their order; empty for any other value.
    package var members: [Member] { Array(Members(of: self)) }

    /// The members of an object in their order, which are read one at a time. A long text has more members than memory
    /// should keep.
    package struct Members: Sequence, IteratorProtocol {
        private var scanner: JSONScanner
        private let bytes: ArraySlice<UInt8>
        private var isAtEnd: Bool

        package init(of text: JSONText) {
            bytes = text.bytes
            scanner = JSONScanner(text.bytes)
            scanner.index += 1
            isAtEnd = !text.isObject
        }

        package mutating func next() -> Member? {
            if isAtEnd { return nil }
            isAtEnd = true
            scanner.skipSpace()
            guard let first = scanner.next, first == UInt8(ascii: "\"") else { return nil }
            let start = scanner.index
            guard scanner.skipString() else { return nil }
            let name = JSONText(valid: bytes[start..<scanner.index])
            scanner.skipSpace()
            scanner.index += 1
            scanner.skipSpace()
            let valueStart = scanner.index
            guard scanner.skipValue() else { return nil }
            let value = JSONText(valid: bytes[valueStart..<scanner.index])
            scanner.skipSpace()
            isAtEnd = scanner.next != UInt8(ascii: ",")
            scanner.index += 1
            return Member(name: name, value: value)
        }
    }

    package struct Member: Sendable, Hashable {
        package let name: JSONText
        package let value: JSONText
    }

    /// The elements of an array; empty for any other value.
    package var elements: [JSONText] { Array(Elements(of: self)) }

    /// The elements of an array, which are read one at a time as in ``Members``.
    package struct Elements: Sequence, IteratorProtocol {
        private var scanner: JSONScanner
        private let bytes: ArraySlice<UInt8>
        private var isAtEnd: Bool

        package init(of text: JSONText) {
            bytes = text.bytes
            scanner = JSONScanner(text.bytes)
            scanner.index += 1
            isAtEnd = !text.isArray
        }

        package mutating func next() -> JSONText? {
            if isAtEnd { return nil }
            isAtEnd = true
            scanner.skipSpace()
            let start = scanner.index
            guard scanner.next != UInt8(ascii: "]"), scanner.skipValue() else { return nil }
            let element = JSONText(valid: bytes[start..<scanner.index])
            scanner.skipSpace()
            isAtEnd = scanner.next != UInt8(ascii: ",")
            scanner.index += 1
            return element
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

    private static func unescaped(_ text: ArraySlice<UInt8>) -> String? {
        var units: [UInt16] = []
        var plain: [UInt8] = []
        func flush() {
            units += String(decoding: plain, as: UTF8.self).utf16
            plain = []
        }
        var index = text.startIndex
        while index < text.endIndex {
            guard text[index] == UInt8(ascii: "\\") else {
                plain.append(text[index])
                index += 1
                continue
            }
            let escape = text[index + 1]
            index += 2
            switch escape {
            case UInt8(ascii: "b"): plain.append(8)
            case UInt8(ascii: "t"): plain.append(9)
            case UInt8(ascii: "n"): plain.append(10)
            case UInt8(ascii: "f"): plain.append(12)
            case UInt8(ascii: "r"): plain.append(13)
            case UInt8(ascii: "u"):
                flush()
                guard let unit = UInt16(String(decoding: text[index..<(index + 4)], as: UTF8.self), radix: 16) else {
                    return nil
                }
                units.append(unit)
                index += 4
            default: plain.append(escape)
            }
        }
        flush()
        return String(validating: units, as: UTF16.self)
    }
}

/// Skips over JSON values, and checks their grammar.
private struct JSONScanner {
    private let text: ArraySlice<UInt8>
    var index: Int

    private let maximumDepth: Int

    /// - Parameter maximumDepth: The default of ``JSONText/init(_:maximumDepth:)`` is more levels than any sensible document
    ///   has, and few enough for the parsers of other programs. Text that was checked before needs no limit.
    init(_ text: ArraySlice<UInt8>, maximumDepth: Int = .max) {
        self.text = text
        self.maximumDepth = maximumDepth
        index = text.startIndex
    }

    var isAtEnd: Bool { index == text.endIndex }
    var next: UInt8? { index < text.endIndex ? text[index] : nil }

    mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { index += 1 }
    }

    /// Returns `false` if there is no valid value. Keeps the open brackets in an array, so that deep text needs no
    /// stack.
    mutating func skipValue() -> Bool {
        var closers: [UInt8] = []
        repeat {
            // Here a value begins.
            guard let first = next else { return false }
            switch first {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                index += 1
                guard closers.count < maximumDepth else { return false }
                let closer = first == UInt8(ascii: "{") ? UInt8(ascii: "}") : UInt8(ascii: "]")
                skipSpace()
                if next == closer {
                    index += 1
                } else {
                    closers.append(closer)
                    guard closer == UInt8(ascii: "]") || skipName() else { return false }
                    continue
                }
            case UInt8(ascii: "\""): guard skipString() else { return false }
            case UInt8(ascii: "t"): guard skip("true") else { return false }
            case UInt8(ascii: "f"): guard skip("false") else { return false }
            case UInt8(ascii: "n"): guard skip("null") else { return false }
            default: guard skipNumber() else { return false }
            }
            // Here a value has ended.
            while let closer = closers.last {
                skipSpace()
                if next == closer {
                    index += 1
                    closers.removeLast()
                } else if next == UInt8(ascii: ",") {
                    index += 1
                    skipSpace()
                    guard closer == UInt8(ascii: "]") || skipName() else { return false }
                    break
                } else {
                    return false
                }
            }
        } while !closers.isEmpty
        return true
    }

    /// Skips the name of a member, the colon, and the spaces around it.
    private mutating func skipName() -> Bool {
        guard next == UInt8(ascii: "\""), skipString() else { return false }
        skipSpace()
        guard next == UInt8(ascii: ":") else { return false }
        index += 1
        skipSpace()
        return true
    }

    mutating func skipString() -> Bool {
        let start = index
        index += 1
        var isASCII = true
        while index < text.endIndex {
            let byte = text[index]
            index += 1
            switch byte {
            case UInt8(ascii: "\""):
                return isASCII || String(validating: text[start..<index], as: UTF8.self) != nil
            case UInt8(ascii: "\\"): guard skipEscape() else { return false }
            case 0..<0x20: return false
            case 0x80...: isASCII = false
            default: break
            }
        }
        return false
    }

    private mutating func skipEscape() -> Bool {
        guard let escape = next else { return false }
        index += 1
        guard escape == UInt8(ascii: "u") else { return "\"\\/bfnrt".utf8.contains(escape) }
        for _ in 0..<4 {
            guard let digit = next, Character(Unicode.Scalar(digit)).isHexDigit else { return false }
            index += 1
        }
        return true
    }

    private mutating func skip(_ word: String) -> Bool {
        guard text[index...].starts(with: word.utf8) else { return false }
        index += word.utf8.count
        return true
    }

    private mutating func skipNumber() -> Bool {
        if next == UInt8(ascii: "-") { index += 1 }
        if next == UInt8(ascii: "0") {
            index += 1
        } else {
            guard skipDigits() else { return false }
        }
        if next == UInt8(ascii: ".") {
            index += 1
            guard skipDigits() else { return false }
        }
        if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
            index += 1
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { index += 1 }
            guard skipDigits() else { return false }
        }
        return true
    }

    private mutating func skipDigits() -> Bool {
        let start = index
        while let byte = next, 0x30...0x39 ~= byte { index += 1 }
        return index > start
    }
}
