/// The meaning of values that services write in another JSON type than the standards require.
///
/// AccountKit sends the type that the standards require, and reads each type whose meaning is clear (RFC 1122, section
/// 1.2.2): a number in a string, a number in place of a string, a boolean in a string or as 0 or 1, one value in place of
/// a list, a date as text. Spaces around a value have no meaning. A value with more than one meaning, such as a number of
/// seconds that can only be one of milliseconds, counts as missing.
///
/// Identities stay exact: `iss`, `nonce` and `sub` are compared character by character. Only the type of `sub`, which some
/// services number, is not required.
extension JSONValue {
    /// The text of a string, or the digits of an integer.
    package var text: String? {
        switch self {
        case .string(let text): text
        case .integer(let number): String(number)
        default: nil
        }
    }

    /// The number, or the number in a string.
    package var decimal: Double? {
        switch self {
        case .integer, .real: number
        case .string(let text): Double(decimal: text)
        default: nil
        }
    }

    /// The whole seconds of ``decimal``, rounded down.
    package var wholeSeconds: Int64? { decimal.flatMap { Int64(exactly: $0.rounded(.down)) } }

    /// The boolean, also as a string in any case, or as 0 or 1.
    package var flag: Bool? {
        switch self {
        case .boolean(let value): value
        case .integer(0): false
        case .integer(1): true
        case .string(let text):
            switch text.trimmed.lowercased() {
            case "true", "1": true
            case "false", "0": false
            default: nil
            }
        default: nil
        }
    }

    /// The date, in seconds since 1970 (RFC 7519, section 2) or as text; `nil` before 1970 or after 9999, since such a value
    /// is a mistake, for example a number of milliseconds.
    package var date: Date? {
        if let seconds = decimal {
            return 0..<253_402_300_800 ~= seconds ? Date(timeIntervalSince1970: seconds) : nil
        }
        return string.flatMap { Timestamp.date(from: $0) }
    }

    /// The texts of a list, or the only one; `nil` for other types, and for an empty text.
    package var list: [String]? {
        if case .array(let values) = self { return values.compactMap(\.text) }
        return text.flatMap { $0.isEmpty ? nil : [$0] }
    }

    /// The words of a list whose elements contain no spaces. Some services join them in one string.
    package var words: [String]? {
        switch self {
        case .array, .string: list.map { $0.flatMap { $0.split(whereSeparator: \.isWhitespace).map(String.init) } }
        default: nil
        }
    }
}

extension Double {
    /// Reads a number as JSON writes it (RFC 8259, section 6), also with a plus sign, leading zeros, and spaces around it.
    package init?(decimal text: String) {
        let text = text.trimmed
        guard text.utf8.count <= 64 else { return nil }
        var rest = text.utf8[...]
        func take(_ marks: String) -> Bool {
            guard let first = rest.first, marks.utf8.contains(first) else { return false }
            rest.removeFirst()
            return true
        }
        func takeDigits() -> Bool {
            let digits = rest.prefix { 48...57 ~= $0 }
            rest = rest.dropFirst(digits.count)
            return !digits.isEmpty
        }
        _ = take("+-")
        guard takeDigits(), !take(".") || takeDigits() else { return nil }
        if take("eE") {
            _ = take("+-")
            guard takeDigits() else { return nil }
        }
        guard rest.isEmpty, let value = Double(text), value.isFinite else { return nil }
        self = value
    }
}
