extension JSONReader {
    /// More levels than any sensible document has, and few enough for the parsers of other programs.
    package static let depthLimit = 512

    /// Returns a reader, and the range of the only value of a text; `nil` if the text is not valid, or exceeds the limits that
    /// protect against hostile text. A byte order mark before the value is skipped, as RFC 8259, section 8.1, allows.
    ///
    /// The encoding of strings is not checked: see ``isUTF8``.
    package static func checked(
        _ text: UnsafeRawBufferPointer, depthLimit: Int = 32, valueLimit: Int = 10_000
    ) -> (reader: JSONReader, value: Range<Int>)? {
        var reader = JSONReader(text, at: text.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0)
        reader.skipSpace()
        let start = reader.index
        guard reader.skipValidValue(depthLimit: depthLimit, valueLimit: valueLimit) else { return nil }
        let end = reader.index
        reader.skipSpace()
        return reader.index == text.count ? (reader, start..<end) : nil
    }

    /// Decodes a value of a checked text. Returns `nil` if a string contains half of a surrogate pair, or if a number is too
    /// large. If an object repeats a name, the first value counts.
    package func decoded(_ value: Range<Int>) -> JSONValue? {
        switch text[value.lowerBound] {
        case UInt8(ascii: "{"):
            var reader = JSONReader(text, at: value.lowerBound)
            let (members, isWhole) = reader.members()
            var object = JSONObject(minimumCapacity: members.count)
            for (name, value) in members where object[name] == nil {
                guard let member = decoded(value) else { return nil }
                object[name] = member
            }
            return isWhole ? .object(object) : nil
        case UInt8(ascii: "["):
            var reader = JSONReader(text, at: value.lowerBound + 1)
            var array: [JSONValue] = []
            while let range = reader.value(), !range.isEmpty {
                guard let element = decoded(range) else { return nil }
                array.append(element)
                guard reader.take(",") else { break }
            }
            return .array(array)
        case UInt8(ascii: "\""): return string(value).flatMap { decoded(string: $0) }.map { .string($0) }
        case UInt8(ascii: "t"): return .boolean(true)
        case UInt8(ascii: "f"): return .boolean(false)
        case UInt8(ascii: "n"): return .null
        default:
            let digits = String(decoding: text[value], as: UTF8.self)
            if let integer = Int64(digits) { return .integer(integer) }
            guard let real = Double(digits), real.isFinite else { return nil }
            // A whole number may be written as 1.0 or 1e3. Beyond 2^53, a real is not exact.
            return real.magnitude < 0x1p53 ? Int64(exactly: real).map { .integer($0) } ?? .real(real) : .real(real)
        }
    }

    // MARK: Grammar

    /// Skips a value. Returns `false` if it is not valid or exceeds the limits. The open brackets are kept in an array, so that
    /// deep text needs no stack.
    private mutating func skipValidValue(depthLimit: Int, valueLimit: Int) -> Bool {
        var count = 0
        var closers: [UInt8] = []
        repeat {
            // Here a value begins.
            count += 1
            guard let first = next, count <= valueLimit else { return false }
            switch first {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                index += 1
                guard closers.count < depthLimit else { return false }
                let closer = first == UInt8(ascii: "{") ? UInt8(ascii: "}") : UInt8(ascii: "]")
                skipSpace()
                if next == closer {
                    index += 1
                } else {
                    closers.append(closer)
                    guard closer == UInt8(ascii: "]") || skipValidName() else { return false }
                    continue
                }
            case UInt8(ascii: "\""): guard skipValidString() else { return false }
            case UInt8(ascii: "t"): guard skip("true") else { return false }
            case UInt8(ascii: "f"): guard skip("false") else { return false }
            case UInt8(ascii: "n"): guard skip("null") else { return false }
            default: guard skipValidNumber() else { return false }
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
                    guard closer == UInt8(ascii: "]") || skipValidName() else { return false }
                    break
                } else {
                    return false
                }
            }
        } while !closers.isEmpty
        return true
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
