/// Reads JSON (RFC 8259) in place, from memory that may contain secrets. It copies bytes only on request.
///
/// ``checked(_:depthLimit:valueLimit:)`` checks the grammar of a whole text. The other functions read the parts of a text that
/// may be damaged: a value that cannot be read does not affect the others.
package struct JSONReader {
    /// A member of an object.
    package struct Member {
        /// The range of the name between the quotation marks.
        package let name: Range<Int>

        /// The range of the value, without spaces around it.
        package let value: Range<Int>
    }

    package let text: UnsafeRawBufferPointer

    /// The index of the next byte to read.
    package internal(set) var index: Int

    /// Creates a reader of a text, which must outlive the reader.
    package init(_ text: UnsafeRawBufferPointer, at index: Int = 0) {
        self.text = text
        self.index = index
    }

    var next: UInt8? { index < text.count ? text[index] : nil }

    mutating func skipSpace() {
        while let byte = next, Self.isSpace(byte) { index += 1 }
    }

    /// Whether the text is UTF-8, as JSON requires (RFC 8259, section 8.1). The other functions do not check it.
    package var isUTF8: Bool {
        if text.allSatisfy({ $0 < 0x80 }) { return true }
        var parser = UTF8.ForwardParser()
        var bytes = text.makeIterator()
        while true {
            switch parser.parseScalar(from: &bytes) {
            case .valid: continue
            case .emptyInput: return true
            case .error: return false
            }
        }
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }

    /// Skips a mark and the spaces before it. Returns `false` if another byte follows the spaces.
    package mutating func take(_ mark: Unicode.Scalar) -> Bool {
        skipSpace()
        guard next == UInt8(ascii: mark) else { return false }
        index += 1
        return true
    }

    // MARK: Parts

    /// Reads the next member of an object. Returns `nil` at the end of the object, and if the text ends within the member.
    package mutating func member() -> Member? {
        guard let name = string(), take(":"), let value = value() else { return nil }
        return Member(name: name, value: value)
    }

    /// Reads all members of an object that can be read. Returns `isWhole` of `false` if there are others.
    package mutating func members() -> (found: [(name: String, value: Range<Int>)], isWhole: Bool) {
        var found: [(name: String, value: Range<Int>)] = []
        var hasNames = true
        guard take("{") else { return ([], false) }
        if take("}") { return ([], true) }
        repeat {
            guard let member = member() else { return (found, false) }
            if let name = unescaped(member.name) {
                found.append((String(decoding: name, as: UTF8.self), member.value))
            } else {
                hasNames = false
            }
        } while take(",")
        return (found, take("}") && hasNames)
    }

    /// Skips a value, which may be damaged: it ends before the next comma or closing bracket that is not in a string or in
    /// other brackets. Returns its range without spaces around it, or `nil` if the text ends first.
    package mutating func value() -> Range<Int>? {
        skipSpace()
        let start = index
        if next == UInt8(ascii: "\"") { return string().map { _ in start..<index } }
        var depth = 0
        scan: while let byte = next {
            switch byte {
            case UInt8(ascii: "\""):
                guard string() != nil else { return nil }
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: ","), UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { break scan }
                if byte != UInt8(ascii: ",") { depth -= 1 }
            default: break
            }
            index += 1
        }
        // The rest of a number may be missing.
        guard next != nil else { return nil }
        var end = index
        while end > start, Self.isSpace(text[end - 1]) { end -= 1 }
        return start..<end
    }

    /// Skips a string and the spaces before it. Returns the range between its quotation marks.
    mutating func string() -> Range<Int>? {
        guard take("\"") else { return nil }
        let start = index
        while let byte = next, byte != UInt8(ascii: "\"") { index += byte == UInt8(ascii: "\\") ? 2 : 1 }
        guard next != nil else { return nil }
        defer { index += 1 }
        return start..<index
    }
}
