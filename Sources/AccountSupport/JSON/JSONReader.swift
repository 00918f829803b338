package import AccountCrypto

/// Reads JSON (RFC 8259) in place, from memory that may contain secrets. It copies bytes only on request.
///
/// ``valid(depthLimit:valueLimit:)`` checks the grammar. The other functions read the parts of a text that is valid, or that
/// may be damaged: they find what a reader can still make out, and never fail because of a value.
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
    package private(set) var index: Int

    /// Creates a reader of a text, which must outlive the reader.
    package init(_ text: UnsafeRawBufferPointer, at index: Int = 0) {
        self.text = text
        self.index = index
    }

    private var next: UInt8? { index < text.count ? text[index] : nil }

    private mutating func skipSpace() {
        while let byte = next, Self.isSpace(byte) { index += 1 }
    }

    /// More levels than any sensible document has, and few enough for the parsers of other programs.
    package static let depthLimit = 512

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
    private mutating func string() -> Range<Int>? {
        guard take("\"") else { return nil }
        let start = index
        while let byte = next, byte != UInt8(ascii: "\"") { index += byte == UInt8(ascii: "\\") ? 2 : 1 }
        guard next != nil else { return nil }
        defer { index += 1 }
        return start..<index
    }

    // MARK: Strings

    /// Returns the range between the quotation marks of a value, or `nil` if the value is not a string.
    package func string(_ value: Range<Int>) -> Range<Int>? {
        guard value.count >= 2, text[value.lowerBound] == UInt8(ascii: "\"") else { return nil }
        return value.lowerBound + 1..<value.upperBound - 1
    }

    /// Returns the range if its value is a whole number without a sign.
    package func digits(_ value: Range<Int>) -> Range<Int>? {
        guard !value.isEmpty, text[value].allSatisfy({ 0x30...0x39 ~= $0 }),
            value.count == 1 || text[value.lowerBound] != UInt8(ascii: "0")
        else { return nil }
        return value
    }

    /// Decodes the escapes in a string (RFC 8259, section 7). Returns `nil` if an escape is invalid, such as half of a
    /// surrogate pair, or if the string contains a control character.
    package func unescaped(_ string: Range<Int>) -> WipedBytes? {
        var result = WipedBytes(capacity: string.count)
        var index = string.lowerBound
        while index < string.upperBound {
            guard text[index] >= 0x20 else { return nil }
            guard text[index] == UInt8(ascii: "\\") else {
                result.append(text[index])
                index += 1
                continue
            }
            if let (scalar, count) = escapedScalar(at: index) {
                result.append(contentsOf: Array(String(scalar).utf8))
                index += count
            } else {
                guard let byte = Self.escaped(text[index + 1]) else { return nil }
                result.append(byte)
                index += 2
            }
        }
        return result
    }

    /// The byte that a backslash and a mark stand for; `nil` for an invalid escape.
    private static func escaped(_ mark: UInt8) -> UInt8? {
        switch mark {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): mark
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: nil
        }
    }

    /// Returns the text of a string. Returns `nil` if an escape is invalid.
    package func decoded(_ string: Range<Int>) -> String? {
        let bytes = text[string]
        guard bytes.contains(UInt8(ascii: "\\")) else { return String(decoding: bytes, as: UTF8.self) }
        return unescaped(string).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the positions of the escapes of half a surrogate pair, such as `\ud83d` without `\ude00`. A service that
    /// shortens a text may cut a pair, and decoders then reject the whole document (RFC 8259, section 8.2). Each escape has
    /// six bytes.
    package static func loneSurrogates(in text: UnsafeRawBufferPointer) -> [Int] {
        let reader = JSONReader(text)
        var lone: [Int] = []
        var index = 0
        while let start = text[index...].firstIndex(of: UInt8(ascii: "\\")) {
            if reader.escapedUnit(at: start) == nil {
                index = min(start + 2, text.count)
            } else if let (_, count) = reader.escapedScalar(at: start) {
                index = start + count
            } else {
                lone.append(start)
                index = start + 6
            }
        }
        return lone
    }

    /// Returns the scalar of an escape such as `\u00e9`, or of two for a surrogate pair, and their number of bytes.
    private func escapedScalar(at index: Int) -> (Unicode.Scalar, count: Int)? {
        guard let first = escapedUnit(at: index) else { return nil }
        if let scalar = Unicode.Scalar(first) { return (scalar, 6) }
        guard UTF16.isLeadSurrogate(first), let second = escapedUnit(at: index + 6), UTF16.isTrailSurrogate(second),
            let scalar = String(decoding: [first, second], as: UTF16.self).unicodeScalars.first
        else { return nil }
        return (scalar, 12)
    }

    private func escapedUnit(at index: Int) -> UInt16? {
        guard index + 6 <= text.count, text[index] == UInt8(ascii: "\\"), text[index + 1] == UInt8(ascii: "u") else {
            return nil
        }
        var unit: UInt16 = 0
        for byte in text[index + 2..<index + 6] {
            guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { return nil }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }

    // MARK: Values

    /// Returns a reader at the start of the only value of a text; `nil` if the text is not valid, or exceeds the limits
    /// that protect against hostile text: 32 levels and 10,000 values. A byte order mark before the value is skipped, as
    /// RFC 8259, section 8.1, allows.
    package static func checked(
        _ text: UnsafeRawBufferPointer, depthLimit: Int = 32, valueLimit: Int = 10_000
    ) -> JSONReader? {
        var reader = JSONReader(text)
        if text.starts(with: [0xEF, 0xBB, 0xBF]) { reader.index = 3 }
        let value = reader
        guard reader.valid(depthLimit: depthLimit, valueLimit: valueLimit) != nil, reader.index == text.count else {
            return nil
        }
        return value
    }

    /// Reads a value of valid text.
    package func jsonValue(_ value: Range<Int>) -> JSONValue? {
        var reader = JSONReader(text, at: value.lowerBound)
        return reader.jsonValue()
    }

    /// Reads the next value of valid text. Returns `nil` if a string contains half of a surrogate pair, or if a number is too large.
    package mutating func jsonValue() -> JSONValue? {
        skipSpace()
        switch next {
        case UInt8(ascii: "{"):
            var object: JSONObject = [:]
            index += 1
            while !take("}") {
                guard let name = string().flatMap({ decoded($0) }), take(":") else { return nil }
                // If the text repeats a name, the first value counts.
                if object[name] == nil {
                    guard let value = jsonValue() else { return nil }
                    object[name] = value
                } else {
                    _ = value()
                }
                _ = take(",")
            }
            return .object(object)
        case UInt8(ascii: "["):
            var array: [JSONValue] = []
            index += 1
            while !take("]") {
                guard let value = jsonValue() else { return nil }
                array.append(value)
                _ = take(",")
            }
            return .array(array)
        case UInt8(ascii: "\""):
            return string().flatMap { decoded($0) }.map { .string($0) }
        case UInt8(ascii: "t"): return skip("true") ? .boolean(true) : nil
        case UInt8(ascii: "f"): return skip("false") ? .boolean(false) : nil
        case UInt8(ascii: "n"): return skip("null") ? .null : nil
        default:
            let start = index
            guard skipValidNumber() else { return nil }
            let digits = String(decoding: text[start..<index], as: UTF8.self)
            if let integer = Int64(digits) { return .integer(integer) }
            guard let real = Double(digits), real.isFinite else { return nil }
            // A whole number may be written as 1.0 or 1e3. Beyond 2^53, a real is not exact.
            return real.magnitude < 0x1p53 ? Int64(exactly: real).map { .integer($0) } ?? .real(real) : .real(real)
        }
    }

    // MARK: Grammar

    /// Skips a value and the spaces around it. Returns its range, or `nil` if it is not valid or exceeds the limits. The
    /// encoding of its strings is not checked.
    ///
    /// - Parameters:
    ///   - depthLimit: The number of levels. The open brackets are kept in an array, so that deep text needs no stack.
    ///   - valueLimit: The number of values in the text.
    package mutating func valid(depthLimit: Int, valueLimit: Int = .max) -> Range<Int>? {
        skipSpace()
        let start = index
        var count = 0
        var closers: [UInt8] = []
        repeat {
            // Here a value begins.
            count += 1
            guard let first = next, count <= valueLimit else { return nil }
            switch first {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                index += 1
                guard closers.count < depthLimit else { return nil }
                let closer = first == UInt8(ascii: "{") ? UInt8(ascii: "}") : UInt8(ascii: "]")
                skipSpace()
                if next == closer {
                    index += 1
                } else {
                    closers.append(closer)
                    guard closer == UInt8(ascii: "]") || skipValidName() else { return nil }
                    continue
                }
            case UInt8(ascii: "\""): guard skipValidString() else { return nil }
            case UInt8(ascii: "t"): guard skip("true") else { return nil }
            case UInt8(ascii: "f"): guard skip("false") else { return nil }
            case UInt8(ascii: "n"): guard skip("null") else { return nil }
            default: guard skipValidNumber() else { return nil }
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
                    guard closer == UInt8(ascii: "]") || skipValidName() else { return nil }
                    break
                } else {
                    return nil
                }
            }
        } while !closers.isEmpty
        let end = index
        skipSpace()
        return start..<end
    }

    /// Skips the name of a member, the colon, and the spaces around it.
    private mutating func skipValidName() -> Bool {
        guard next == UInt8(ascii: "\""), skipValidString(), take(":") else { return false }
        skipSpace()
        return true
    }

    private mutating func skipValidString() -> Bool {
        index += 1
        while let byte = next {
            switch byte {
            case UInt8(ascii: "\""):
                index += 1
                return true
            case UInt8(ascii: "\\"):
                if escapedUnit(at: index) != nil {
                    index += 6
                } else {
                    guard index + 1 < text.count, Self.escaped(text[index + 1]) != nil else { return false }
                    index += 2
                }
            case 0..<0x20: return false
            default: index += 1
            }
        }
        return false
    }

    private mutating func skip(_ word: String) -> Bool {
        guard text[index...].starts(with: word.utf8) else { return false }
        index += word.utf8.count
        return true
    }

    private mutating func skipValidNumber() -> Bool {
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
