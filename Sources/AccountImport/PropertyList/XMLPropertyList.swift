/// Reads an XML property list, in which a keyed archive has its references as dictionaries with the one key `CF$UID`.
///
/// Only what property lists consist of is read, in UTF-8: a document that defines entities of its own is refused, so
/// nothing in it can grow or refer to other files. The decoder of FoundationEssentials hides the references and runs out
/// of stack on deep nesting. Source of the format: Apple's PropertyList-1.0.dtd.
struct XMLPropertyList {
    private var scanner: XMLScanner
    private var remainingValues = ImportLimits.valueCount

    /// The whole list.
    static func read(_ source: SourceBytes) throws(ImportFault) -> LegacyValue {
        var list = XMLPropertyList(scanner: XMLScanner(source))
        try list.scanner.skipProlog()
        guard try list.scanner.tag() == .open("plist") else { throw XMLScanner.notPropertyList }
        let value = try list.value(try list.scanner.tag(), depth: 0)
        guard try list.scanner.tag() == .close("plist") else { throw .damaged("there is more than one value") }
        try list.scanner.expectEnd()
        return value
    }

    private init(scanner: XMLScanner) {
        self.scanner = scanner
    }

    private mutating func value(_ tag: XMLScanner.Tag, depth: Int) throws(ImportFault) -> LegacyValue {
        guard depth <= ImportLimits.depth else { throw .damaged("values are nested too deeply") }
        remainingValues -= 1
        guard remainingValues >= 0 else { throw .damaged("it holds too many values") }

        switch tag {
        case .empty("true"): return .boolean(true)
        case .empty("false"): return .boolean(false)
        case .empty("string"): return .text(.made(""))
        case .empty("array"): return .array([])
        case .empty("dict"): return .dictionary([:])
        case .empty("data"): return .data(.raw(0..<0))
        case .open("string"): return .text(.xml(try scanner.content(of: "string")))
        case .open("data"): return .data(.base64(try scanner.content(of: "data")))
        case .open("integer"): return .integer(try integer(try scanner.word(in: "integer")))
        case .open("real"): return .real(try real(try scanner.word(in: "real")))
        case .open("date"): return try date(try scanner.word(in: "date"))
        case .open("true"): return .boolean(try constant(true, name: "true"))
        case .open("false"): return .boolean(try constant(false, name: "false"))
        case .open("array"): return try array(depth: depth)
        case .open("dict"): return try dictionary(depth: depth)
        default: throw .damaged("a value is missing or of an unknown kind")
        }
    }

    private mutating func array(depth: Int) throws(ImportFault) -> LegacyValue {
        var values: [LegacyValue] = []
        while true {
            let tag = try scanner.tag()
            if tag == .close("array") { return .array(values) }
            values.append(try value(tag, depth: depth + 1))
        }
    }

    private mutating func dictionary(depth: Int) throws(ImportFault) -> LegacyValue {
        var values: [String: LegacyValue] = [:]
        while true {
            let tag = try scanner.tag()
            if tag == .close("dict") { break }
            let name: String
            switch tag {
            case .empty("key"): name = ""
            case .open("key"):
                let text = SourceText.xml(try scanner.content(of: "key"))
                name = try scanner.source.string(text, limit: ImportLimits.keyByteCount)
            default: throw .damaged("a key is missing")
            }
            guard values.updateValue(try value(try scanner.tag(), depth: depth + 1), forKey: name) == nil else {
                throw .damaged("a key stands there twice")
            }
        }
        if values.count == 1, case .integer(let index)? = values["CF$UID"] {
            guard let index = Int32(exactly: index), index >= 0 else { throw .damaged("a reference is out of range") }
            return .reference(Int(index))
        }
        return .dictionary(values)
    }

    private mutating func constant(_ value: Bool, name: String) throws(ImportFault) -> Bool {
        guard try scanner.word(in: name).isEmpty else { throw .damaged("a truth value has a text") }
        return value
    }

    private func integer(_ word: String) throws(ImportFault) -> Int128 {
        let sign = word.hasPrefix("-") ? "-" : ""
        let digits = word.hasPrefix("-") || word.hasPrefix("+") ? word.dropFirst() : Substring(word)
        let isHexadecimal = digits.hasPrefix("0x") || digits.hasPrefix("0X")
        let number = isHexadecimal ? digits.dropFirst(2) : digits
        guard number.first?.isHexDigit == true, let value = Int128(sign + number, radix: isHexadecimal ? 16 : 10) else {
            throw .damaged("a whole number has other characters, or too many")
        }
        return value
    }

    private func real(_ word: String) throws(ImportFault) -> Double {
        guard let value = Double(word) else { throw .damaged("a number has other characters") }
        return value
    }

    private func date(_ word: String) throws(ImportFault) -> LegacyValue {
        guard let date = LegacyDate.calendarDate(word) else { throw .damaged("a date is not of the form of a date") }
        return .date(date)
    }
}
