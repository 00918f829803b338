import AccountKit
import AccountCrypto

struct XMLScanner {
    /// A tag without its attributes, which have no meaning in a property list.
    enum Tag: Equatable {
        case open(String)
        case close(String)
        case empty(String)
    }

    private let bytes: WipedBytes
    private var index = 0

    init(_ bytes: WipedBytes) { self.bytes = bytes }

    static let notPropertyList = AccountError.unusable(
        """
        It is neither a keyed archive nor a property list. Choose the file in which the old app stored its account. \
        If that file is a text or JSON file, convert it first, for example with `plutil -convert xml1`.
        """)

    private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

    private func isAt(_ text: StaticString) -> Bool {
        text.withUTF8Buffer { bytes[min(index, bytes.count)...].starts(with: $0) }
    }

    private mutating func skip(_ text: StaticString) -> Bool {
        guard isAt(text) else { return false }
        index += text.utf8CodeUnitCount
        return true
    }

    private mutating func skip(to end: StaticString) throws(AccountError) {
        while !skip(end) {
            guard index < bytes.count else { throw .damaged("it is truncated") }
            index += 1
        }
    }

    private mutating func skipSpaceAndComments() throws(AccountError) {
        while let byte = next {
            if byte.isXMLSpace {
                index += 1
            } else if skip("<!--") {
                try skip(to: "-->")
            } else if skip("<?") {
                try skip(to: "?>")
            } else {
                return
            }
        }
    }

    mutating func skipProlog() throws(AccountError) {
        if bytes.isEmpty { throw .unusable("It is empty; choose the file in which the old app stored its account.") }
        if isAt("\u{04}\u{0B}streamtyped") {
            throw .unusable("It was written by NSArchiver, not by NSKeyedArchiver; sign in again instead.")
        }
        _ = skip("\u{FEFF}")
        try requireUTF8()
        try skipSpaceAndComments()
        if skip("<!DOCTYPE") {
            let start = index
            try skip(to: ">")
            if bytes[start..<index].contains(UInt8(ascii: "[")) {
                throw .unusable("It defines entities, which are not allowed in a property list; sign in again instead.")
            }
            try skipSpaceAndComments()
        }
        guard isAt("<plist") else { throw Self.notPropertyList }
    }

    private func requireUTF8() throws(AccountError) {
        let isUTF16 = [[0xFE, 0xFF], [0xFF, 0xFE], [0, 0x3C], [0x3C, 0]].contains(Array(bytes.prefix(2)))
        let declaration = String(
            decoding: isAt("<?xml") ? bytes[index...].prefix(200).prefix { $0 != UInt8(ascii: ">") } : bytes[..<0],
            as: UTF8.self
        ).lowercased()
        let isUTF8 = ["utf-8", "utf8", "us-ascii"].contains { declaration.contains($0) }
        guard !isUTF16, isUTF8 || !declaration.contains("encoding") else {
            throw .unusable("It is not in UTF-8; convert it, for example with `plutil -convert xml1`.")
        }
    }

    mutating func expectEnd() throws(AccountError) {
        try skipSpaceAndComments()
        guard next == nil else { throw .damaged("there is data after its end") }
    }

    mutating func tag() throws(AccountError) -> Tag {
        try skipSpaceAndComments()
        guard skip("<") else {
            throw .damaged(next == nil ? "it is truncated" : "there is text outside the values")
        }
        let isClosing = skip("/")
        let letters = bytes[index...].prefix { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }
        index += letters.count
        guard letters.count <= 8, let next, next.isXMLSpace || next == UInt8(ascii: "/") || next == UInt8(ascii: ">")
        else { throw .damaged("a tag is not valid in a property list") }
        let name = String(decoding: letters, as: UTF8.self)
        let isEmpty = try skipAttributes()
        guard !(isClosing && isEmpty) else { throw .damaged("a tag is not valid in a property list") }
        return isClosing ? .close(name) : isEmpty ? .empty(name) : .open(name)
    }

    /// Advances past the `>`. Returns `true` if a `/` precedes it.
    private mutating func skipAttributes() throws(AccountError) -> Bool {
        while let byte = next {
            index += 1
            switch byte {
            case UInt8(ascii: ">"): return bytes[index - 2] == UInt8(ascii: "/")
            case UInt8(ascii: "<"): throw .damaged("a tag has no end")
            case UInt8(ascii: "\""): try skip(to: "\"")
            case UInt8(ascii: "'"): try skip(to: "'")
            default: break
            }
        }
        throw .damaged("it is truncated")
    }

    /// Returns the text before a closing tag, with replaced entities and CDATA sections, and advances past the tag. The
    /// text may be invalid UTF-8.
    mutating func text(upTo name: String) throws(AccountError) -> WipedBytes {
        var text = WipedBytes()
        while let byte = next {
            switch byte {
            case UInt8(ascii: "<"):
                if skip("<![CDATA[") {
                    let start = index
                    try skip(to: "]]>")
                    text.append(contentsOf: bytes[start..<index - 3])
                } else {
                    guard try tag() == .close(name) else { throw .damaged("a string contains another value") }
                    return text
                }
            case UInt8(ascii: "&"):
                guard let end = bytes[index...].prefix(12).firstIndex(of: UInt8(ascii: ";")),
                    let scalar = Self.scalar(bytes[index + 1..<end])
                else { throw .damaged("an entity is unknown") }
                text.append(contentsOf: UTF8.encode(scalar)!)
                index = end + 1
            default:
                text.append(byte)
                index += 1
            }
        }
        throw .damaged("it is truncated")
    }

    private static func scalar(_ entity: WipedBytes.SubSequence) -> Unicode.Scalar? {
        let name = String(decoding: entity, as: UTF8.self)
        switch name {
        case "lt": return "<"
        case "gt": return ">"
        case "amp": return "&"
        case "apos": return "'"
        case "quot": return "\""
        default:
            let isHexadecimal = name.hasPrefix("#x")
            let digits = name.dropFirst(isHexadecimal ? 2 : 1)
            guard name.hasPrefix("#"), digits.first?.isHexDigit == true,
                let value = UInt32(digits, radix: isHexadecimal ? 16 : 10), value > 0
            else { return nil }
            return Unicode.Scalar(value)
        }
    }

    mutating func word(upTo name: String) throws(AccountError) -> String {
        let text = try text(upTo: name).drop { $0.isXMLSpace }
        let word = text.prefix((text.lastIndex { !$0.isXMLSpace } ?? text.startIndex - 1) - text.startIndex + 1)
        guard word.count <= 64, word.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw .damaged("a number or date contains invalid characters")
        }
        return String(decoding: word, as: UTF8.self)
    }
}

extension UInt8 {
    fileprivate var isXMLSpace: Bool { self == 0x20 || self == 0x09 || self == 0x0A || self == 0x0D }
}

extension WipedBytes {
    var isUTF8: Bool {
        let isBroken = transcode(makeIterator(), from: UTF8.self, to: UTF8.self, stoppingOnError: true) { _ in }
        return !isBroken
    }
}
