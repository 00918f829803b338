import AccountKit
import AccountCrypto
import AccountSupport

/// The JSON object of a response, with its secrets in guarded memory. A JSON decoder would create strings, which stay
/// in memory after their release. This type therefore reads the secrets byte by byte, and passes a placeholder for each
/// secret to the decoder.
struct ResponseObject: Sendable {
    /// The members, with a placeholder for each secret. The placeholder is empty if the secret is empty.
    private(set) var members: JSONObject

    /// Whether the text repeats a member or is not UTF-8, so that the meaning of the text is unclear.
    let isAmbiguous: Bool

    /// The secrets that are not empty. If the text repeats a name, the first value counts, as in the decoder.
    private(set) var secrets: [String: Secret] = [:]

    /// Parses a text. Returns `nil` if the text is not a JSON object, or exceeds the limits of ``JSONValue``. If the
    /// text is ambiguous, ``members`` has no `error` (RFC 6749, section 3.2, forbids repeated parameters).
    init?(_ text: WipedBytes, secrets names: Set<String>) {
        var scanner = JSONMemberScanner(text)
        guard let found = scanner.members() else { return nil }
        var masked = WipedBytes()
        var copied = 0
        var seen: Set<String> = []
        var isAmbiguous = false
        for member in found {
            let isFirst = seen.insert(member.name).inserted
            isAmbiguous = isAmbiguous || !isFirst
            guard names.contains(member.name) else { continue }
            let secret: Secret
            if let string = member.string {
                guard let value = scanner.unescaped(string) else { return nil }
                secret = Secret(bytes: value)
                masked.append(contentsOf: text[copied..<string.lowerBound])
                if secret.byteCount > 0 { masked.append(UInt8(ascii: "*")) }
                copied = string.upperBound
            } else if let number = member.number {
                // Some services issue numbers. The digits are the secret, whatever their value is.
                secret = Secret(bytes: text[number])
                masked.append(contentsOf: text[copied..<number.lowerBound])
                masked.append(contentsOf: Array(#""*""#.utf8))
                copied = number.upperBound
            } else {
                continue
            }
            if isFirst, secret.byteCount > 0 { secrets[member.name] = secret }
        }
        masked.append(contentsOf: text[copied...])
        guard let members = JSONValue.object(from: masked) else { return nil }
        self.members = members
        self.isAmbiguous = isAmbiguous || !Self.isUTF8(text)
        if self.isAmbiguous { self.members["error"] = nil }
    }

    /// Returns whether the text is UTF-8, as JSON requires (RFC 8259, section 8.1). A decoder checks only the parts
    /// that it decodes.
    private static func isUTF8(_ text: WipedBytes) -> Bool {
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
}

/// Finds the members of an object (RFC 8259, section 4). The scanner does not find all syntax errors, because a decoder
/// also reads the text.
struct JSONMemberScanner {
    struct Member {
        var name: String

        /// The range of the value.
        var value: Range<Int>

        /// The range between the quotation marks, or `nil` if the value is not a string.
        var string: Range<Int>?

        /// The range of the digits, or `nil` if the value is not an integer of digits only.
        var number: Range<Int>?
    }

    private let text: WipedBytes

    /// The place of the next byte to read.
    private(set) var index = 0

    init(_ text: WipedBytes) { self.text = text }

    mutating func members() -> [Member]? {
        let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let (members, end) = members(from: text.starts(with: byteOrderMark) ? 3 : 0)
        return end == nil ? nil : members
    }

    /// Returns the members of the object at an index that can be read, and the index after the object; `nil` if there are other
    /// members.
    mutating func members(from start: Int) -> (members: [Member], end: Int?) {
        index = start
        guard take("{") else { return ([], nil) }
        if take("}") { return ([], index) }
        var members: [Member] = []
        var isWhole = true
        repeat {
            guard let name = string(), take(":") else { return (members, nil) }
            skipSpace()
            let start = index
            var literal: Range<Int>?
            var number: Range<Int>?
            if next == UInt8(ascii: "\"") {
                guard let value = string() else { return (members, nil) }
                literal = value
            } else {
                while let byte = next, UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte { index += 1 }
                let digits = start..<index
                skipValue()
                // The rest of a number may be missing.
                guard next != nil else { return (members, nil) }
                let isNumber = digits.count == 1 || digits.count > 1 && text[digits.lowerBound] != UInt8(ascii: "0")
                if isNumber, text[digits.upperBound..<index].allSatisfy({ [0x20, 0x09, 0x0A, 0x0D].contains($0) }) {
                    number = digits
                }
            }
            guard let unescaped = unescaped(name) else {
                isWhole = false
                continue
            }
            members.append(
                Member(
                    name: String(decoding: unescaped, as: UTF8.self), value: start..<index, string: literal,
                    number: number))
        } while take(",")
        return (members, take("}") && isWhole ? index : nil)
    }

    private var next: UInt8? { index < text.count ? text[index] : nil }

    private mutating func skipSpace() {
        while let byte = next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { index += 1 }
    }

    private mutating func take(_ mark: Unicode.Scalar) -> Bool {
        skipSpace()
        guard next == UInt8(ascii: mark) else { return false }
        index += 1
        return true
    }

    private mutating func string() -> Range<Int>? {
        guard take("\"") else { return nil }
        let start = index
        while let byte = next, byte != UInt8(ascii: "\"") {
            index += byte == UInt8(ascii: "\\") ? 2 : 1
        }
        guard next != nil else { return nil }
        defer { index += 1 }
        return start..<index
    }

    private mutating func skipValue() {
        var depth = 0
        while let byte = next {
            switch byte {
            case UInt8(ascii: "\""):
                guard string() != nil else { return }
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: ","), UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return }
                if byte != UInt8(ascii: ",") { depth -= 1 }
            default: break
            }
            index += 1
        }
    }

    /// Decodes the escapes in a string (RFC 8259, section 7). Returns `nil` if an escape is invalid or the string
    /// contains a control character.
    func unescaped(_ string: Range<Int>) -> WipedBytes? {
        var result = WipedBytes()
        var rest = text[string]
        while let byte = rest.popFirst() {
            guard byte >= 0x20 else { return nil }
            guard byte == UInt8(ascii: "\\") else {
                result.append(byte)
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "b")?: result.append(0x08)
            case UInt8(ascii: "f")?: result.append(0x0C)
            case UInt8(ascii: "n")?: result.append(0x0A)
            case UInt8(ascii: "r")?: result.append(0x0D)
            case UInt8(ascii: "t")?: result.append(0x09)
            case UInt8(ascii: "u")?:
                guard let scalar = Self.scalar(&rest) else { return nil }
                result.append(contentsOf: Array(String(scalar).utf8))
            case let mark? where "\"\\/".utf8.contains(mark): result.append(mark)
            default: return nil
            }
        }
        return result
    }

    /// Parses the text after `\u`: four digits, or a surrogate pair.
    private static func scalar(_ rest: inout WipedBytes.SubSequence) -> Unicode.Scalar? {
        func unit() -> UInt32? {
            guard rest.count >= 4 else { return nil }
            var value: UInt32 = 0
            for _ in 0..<4 {
                guard let byte = rest.popFirst(), let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                    return nil
                }
                value = value << 4 | UInt32(digit)
            }
            return value
        }
        guard let first = unit() else { return nil }
        guard 0xD800..<0xDC00 ~= first else { return Unicode.Scalar(first) }
        guard rest.popFirst() == UInt8(ascii: "\\"), rest.popFirst() == UInt8(ascii: "u"), let second = unit(),
            0xDC00..<0xE000 ~= second
        else { return nil }
        return Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    }
}
