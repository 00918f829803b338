/// Reads the tags and texts of an XML property list one after the other.
struct XMLScanner {
    /// A tag without its attributes, which mean nothing here.
    enum Tag: Equatable {
        case open(String)
        case close(String)
        case empty(String)
    }

    let source: SourceBytes
    private var index = 0

    init(_ source: SourceBytes) {
        self.source = source
    }

    static let notPropertyList = ImportFault.unusable(
        """
        It is neither a keyed archive nor a property list. Choose the file that the old app kept its account in; \
        a text or JSON file has to be converted first, for example with `plutil -convert xml1`.
        """)

    /// Goes to the first tag, over the declaration, comments and the document type.
    mutating func skipProlog() throws(ImportFault) {
        if source.count == 0 { throw .unusable("It is empty; choose the file that the old app kept its account in.") }
        if source.starts(with: "\u{04}\u{0B}streamtyped") {
            throw .unusable("It was written by NSArchiver, not by NSKeyedArchiver; sign in again instead.")
        }
        if source.starts(with: "\u{FEFF}") { index = 3 }
        try requireUTF8()
        try skipBetweenTags()
        if source.starts(with: "<!DOCTYPE", at: index) {
            index += 9
            while let byte = source[index], byte != UInt8(ascii: ">") {
                guard byte != UInt8(ascii: "[") else {
                    throw .unusable("It defines entities, which no property list does; sign in again instead.")
                }
                index += 1
            }
            guard source[index] != nil else { throw .damaged("it is cut off") }
            index += 1
            try skipBetweenTags()
        }
        guard source.starts(with: "<plist", at: index) else { throw Self.notPropertyList }
    }

    /// The next tag. Anything but white space and comments before it is a fault.
    mutating func tag() throws(ImportFault) -> Tag {
        try skipBetweenTags()
        guard source[index] == UInt8(ascii: "<") else {
            throw .damaged(source[index] == nil ? "it is cut off" : "a text stands outside the values")
        }
        index += 1
        let isClosing = source[index] == UInt8(ascii: "/")
        if isClosing { index += 1 }
        var name = ""
        while let byte = source[index], (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte), name.utf8.count < 8 {
            name.unicodeScalars.append(Unicode.Scalar(byte))
            index += 1
        }
        guard let next = source[index], next.isXMLSpace || next == UInt8(ascii: "/") || next == UInt8(ascii: ">") else {
            throw .damaged("a tag is not one of a property list")
        }
        let isEmpty = try skipAttributes()
        guard !(isClosing && isEmpty) else { throw .damaged("a tag is not one of a property list") }
        return isClosing ? .close(name) : isEmpty ? .empty(name) : .open(name)
    }

    /// Goes after the `>`; `true` if a `/` stood before it.
    private mutating func skipAttributes() throws(ImportFault) -> Bool {
        while let byte = source[index] {
            index += 1
            switch byte {
            case UInt8(ascii: ">"): return source[index - 2] == UInt8(ascii: "/")
            case UInt8(ascii: "<"): throw .damaged("a tag has no end")
            case UInt8(ascii: "\""), UInt8(ascii: "'"):
                while let quoted = source[index], quoted != byte { index += 1 }
                index += 1
            default: break
            }
        }
        throw .damaged("it is cut off")
    }

    /// Where the text up to the closing tag `name` is; goes after that tag.
    mutating func content(of name: String) throws(ImportFault) -> Range<Int> {
        let start = index
        while let byte = source[index] {
            guard byte == UInt8(ascii: "<") else {
                index += 1
                continue
            }
            if source.starts(with: "<![CDATA[", at: index) {
                try skip(to: "]]>")
            } else {
                let end = index
                guard try tag() == .close(name) else { throw .damaged("a text holds another value") }
                return start..<end
            }
        }
        throw .damaged("it is cut off")
    }

    /// The short text up to the closing tag `name`, without the white space around it.
    mutating func word(in name: String) throws(ImportFault) -> String {
        let range = try content(of: name)
        let bytes = range.compactMap { source[$0] }.drop { $0.isXMLSpace }
        let word = bytes.reversed().drop { $0.isXMLSpace }.reversed()
        guard word.count <= 64, word.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw .damaged("a number or date has other characters")
        }
        return String(decoding: word, as: UTF8.self)
    }

    /// Makes sure that only white space and comments follow.
    mutating func expectEnd() throws(ImportFault) {
        try skipBetweenTags()
        guard index == source.count else { throw .damaged("something follows its end") }
    }

    private mutating func skipBetweenTags() throws(ImportFault) {
        while let byte = source[index] {
            if byte.isXMLSpace {
                index += 1
            } else if byte != UInt8(ascii: "<") {
                return
            } else if source.starts(with: "<!--", at: index) {
                try skip(to: "-->")
            } else if source.starts(with: "<?", at: index) {
                try skip(to: "?>")
            } else {
                return
            }
        }
    }

    private mutating func skip(to end: StaticString) throws(ImportFault) {
        while !source.starts(with: end, at: index) {
            guard index < source.count else { throw .damaged("it is cut off") }
            index += 1
        }
        index += end.utf8CodeUnitCount
    }

    /// Refuses another encoding than UTF-8 and ASCII, as the XML declaration names it.
    private func requireUTF8() throws(ImportFault) {
        let isUTF16 = [[0xFE, 0xFF], [0xFF, 0xFE], [0, 0x3C], [0x3C, 0]].contains([source[0], source[1]])
        var declaration = ""
        if source.starts(with: "<?xml", at: index) {
            for position in index..<min(index + 200, source.count) {
                guard let byte = source[position], byte != UInt8(ascii: ">") else { break }
                declaration.unicodeScalars.append(Unicode.Scalar(byte))
            }
        }
        let isNamed = declaration.lowercased().contains("encoding")
        let isUTF8 = ["utf-8", "utf8", "us-ascii"].contains { declaration.lowercased().contains($0) }
        guard !isUTF16, !isNamed || isUTF8 else {
            throw .unusable("It is not in UTF-8; convert it, for example with `plutil -convert xml1`.")
        }
    }
}
