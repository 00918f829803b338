/// Changes single members of a JSON document, and keeps the rest of its text: the order, the spaces and the numbers.
package struct JSONEdit: Sendable {
    /// A new value.
    package indirect enum Value: Sendable, Equatable {
        case string(String)
        case array([Value])
        case object([(String, Value)])

        package static func == (one: Value, other: Value) -> Bool { one.text(nil, "") == other.text(nil, "") }
    }

    /// The text of the document.
    package private(set) var text: [UInt8]

    /// The text with a space in place of each byte of a comment and of each trailing comma, so that it is JSON, and each
    /// position is the same as in the text.
    private var bare: [UInt8]

    /// - Parameters:
    ///   - text: The document. Empty text stands for an empty object.
    ///   - allowsComments: Whether the document may contain comments, commas before a closing bracket, and a byte order
    ///     mark, as programs accept in files that users edit. They are kept.
    /// - Returns: `nil` if the text is not a JSON object.
    package init?(_ text: [UInt8], allowingComments allowsComments: Bool = false) {
        bare = allowsComments ? Self.withoutComments(text) : text
        self.text = text
        if bare.allSatisfy({ $0 == 0x20 || 0x09...0x0D ~= $0 }) {
            let hasComments = bare != text
            if hasComments {
                self.text += Array("\n{}\n".utf8)
                bare += Array("\n{}\n".utf8)
            } else {
                self.text = Array("{}\n".utf8)
                bare = self.text
            }
        }
        guard root?.isObject == true else { return nil }
    }

    /// The document without comments.
    package var root: JSONText? { JSONText(bare) }

    /// A step of the path leads to a value that is not an object.
    package struct NotAnObject: Error {
        package let name: String
    }

    /// Sets a value, and creates the objects that lead to it.
    package mutating func set(_ value: Value, at path: [String]) throws(NotAnObject) {
        guard var object = root, !path.isEmpty else { return }
        var value = value
        var rest = path[...]
        while let name = rest.first {
            rest = rest.dropFirst()
            guard let member = object.members.last(where: { $0.name.string == name }) else {
                for name in rest.reversed() { value = .object([(name, value)]) }
                return insert(value, named: name, into: object)
            }
            if rest.isEmpty {
                let line = lead(before: member.name.bytes.startIndex) ?? []
                let indent = String(decoding: line.drop { $0 == 0x0A || $0 == 0x0D }, as: UTF8.self)
                let range = member.value.bytes.startIndex..<member.value.bytes.endIndex
                replace(range, with: value.text(unit, indent))
                return
            }
            guard member.value.isObject else { throw NotAnObject(name: name) }
            object = member.value
        }
    }

    /// Removes a value, and the objects around it that become empty. Does nothing if there is no such value.
    package mutating func remove(at path: [String]) {
        var path = path
        while !path.isEmpty {
            guard let object = value(at: path.dropLast()) else { return }
            let members = object.members
            guard let index = members.lastIndex(where: { $0.name.string == path.last }) else { return }
            let range: Range<Int>
            if members.count == 1 {
                range = (object.bytes.startIndex + 1)..<(object.bytes.endIndex - 1)
            } else if index + 1 < members.count {
                range = members[index].name.bytes.startIndex..<members[index + 1].name.bytes.startIndex
            } else {
                range = members[index - 1].value.bytes.endIndex..<members[index].value.bytes.endIndex
            }
            replace(range, with: "")
            guard members.count == 1 else { return }
            path.removeLast()
        }
    }

    package func value(at path: some Sequence<String>) -> JSONText? {
        var value = root
        for name in path { value = value?[name] }
        return value
    }

    private mutating func insert(_ value: Value, named name: String, into object: JSONText) {
        let key = String(decoding: JSONText(string: name).bytes, as: UTF8.self)
        let members = object.members
        if let first = members.first, let last = members.last {
            let line = lead(before: first.name.bytes.startIndex)
            let indent = String(decoding: (line ?? []).drop { $0 == 0x0A || $0 == 0x0D }, as: UTF8.self)
            let member = key + ": " + value.text(line == nil ? nil : unit, indent)
            let end = last.value.bytes.endIndex
            return replace(end..<end, with: "," + String(decoding: line ?? [0x20], as: UTF8.self) + member)
        }
        let outer = indentation(at: object.bytes.startIndex)
        let range = (object.bytes.startIndex + 1)..<(object.bytes.endIndex - 1)
        let hasComment = text[range] != bare[range]
        guard let unit, !hasComment || lead(before: range.upperBound) != nil else {
            let member = key + ": " + value.text(nil, "")
            return replace(hasComment ? range.upperBound..<range.upperBound : range, with: member)
        }
        let member = "\n" + outer + unit + key + ": " + value.text(unit, outer + unit)
        guard hasComment, let line = lead(before: range.upperBound) else {
            return replace(range, with: member + "\n" + outer)
        }
        // The line break ends a comment.
        let end = range.upperBound - line.count
        replace(end..<end, with: member)
    }

    private mutating func replace(_ range: Range<Int>, with new: String) {
        text.replaceSubrange(range, with: new.utf8)
        bare.replaceSubrange(range, with: new.utf8)
    }

    private static func withoutComments(_ text: [UInt8]) -> [UInt8] {
        var bare = text
        var index = text.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        for mark in 0..<index { bare[mark] = 0x20 }
        // The comma after the last value, if nothing but spaces and comments follows.
        var comma: Int?
        func skip(to end: Int) {
            while index < end {
                if bare[index] != 0x0A, bare[index] != 0x0D { bare[index] = 0x20 }
                index += 1
            }
        }
        while index < text.count {
            let byte = text[index]
            let next = index + 1 < text.count ? text[index + 1] : 0
            switch byte {
            case UInt8(ascii: "/") where next == UInt8(ascii: "/"):
                skip(to: text[index...].firstIndex { $0 == 0x0A || $0 == 0x0D } ?? text.count)
                continue
            case UInt8(ascii: "/") where next == UInt8(ascii: "*"):
                let end = text[(index + 2)...].firstRange(of: Array("*/".utf8))
                skip(to: end?.upperBound ?? text.count)
                continue
            case UInt8(ascii: "\""):
                comma = nil
                index += 1
                while index < text.count, text[index] != UInt8(ascii: "\"") {
                    index += text[index] == UInt8(ascii: "\\") ? 2 : 1
                }
            case UInt8(ascii: ","): comma = index
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if let comma { bare[comma] = 0x20 }
                comma = nil
            case 0x20, 0x09, 0x0A, 0x0D: break
            default: comma = nil
            }
            index += 1
        }
        return bare
    }

    /// The line break and the spaces before a member; `nil` if it is on the line of the member before.
    private func lead(before index: Int) -> [UInt8]? {
        let spaces = bare[..<index].reversed().prefix { $0 == 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }
        let lead = Array(spaces.reversed())
        // Keep only the last line break, in case of an empty line.
        guard let end = lead.lastIndex(of: 0x0A) else { return nil }
        return Array(lead[end...])
    }

    /// The spaces at the beginning of a line.
    private func indentation(at index: Int) -> String {
        let start = bare[..<index].lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        return String(decoding: text[start...].prefix { $0 == 0x20 || $0 == 0x09 }, as: UTF8.self)
    }

    /// The spaces of one level; `nil` if the document is on one line.
    private var unit: String? {
        guard let first = root?.members.first else { return "  " }
        return lead(before: first.name.bytes.startIndex).map { String(decoding: $0.dropFirst(), as: UTF8.self) }
    }
}

extension JSONEdit.Value {
    /// The text on several lines, or with a `unit` of `nil` on one.
    package func text(_ unit: String?, _ indent: String) -> String {
        func joined(_ open: String, _ parts: [String], _ close: String) -> String {
            guard let unit, !parts.isEmpty else { return open + parts.joined(separator: ", ") + close }
            let lines = parts.map { "\n" + indent + unit + $0 }
            return open + lines.joined(separator: ",") + "\n" + indent + close
        }
        switch self {
        case .string(let string): return String(decoding: JSONText(string: string).bytes, as: UTF8.self)
        case .array(let values):
            // Lists of words are short.
            return "[" + values.map { $0.text(nil, "") }.joined(separator: ", ") + "]"
        case .object(let members):
            let parts = members.map { name, value in
                String(decoding: JSONText(string: name).bytes, as: UTF8.self) + ": "
                    + value.text(unit, indent + (unit ?? ""))
            }
            return joined("{", parts, "}")
        }
    }
}
