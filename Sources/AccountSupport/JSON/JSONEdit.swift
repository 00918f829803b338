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

    /// - Parameter text: The document. Empty text stands for an empty object.
    /// - Returns: `nil` if the text is not a JSON object.
    package init?(_ text: [UInt8]) {
        let isEmpty = text.allSatisfy { $0 == 0x20 || 0x09...0x0D ~= $0 }
        self.text = isEmpty ? Array("{}\n".utf8) : text
        guard JSONText(self.text)?.isObject == true else { return nil }
    }

    package var root: JSONText? { JSONText(text) }

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
                text.replaceSubrange(range, with: value.text(unit, indent).utf8)
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
            text.removeSubrange(range)
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
            text.insert(contentsOf: [UInt8(ascii: ",")] + (line ?? [0x20]) + member.utf8, at: last.value.bytes.endIndex)
            return
        }
        let outer = indentation(at: object.bytes.startIndex)
        let range = (object.bytes.startIndex + 1)..<(object.bytes.endIndex - 1)
        guard let unit else {
            return text.replaceSubrange(range, with: (key + ": " + value.text(nil, "")).utf8)
        }
        let member = "\n" + outer + unit + key + ": " + value.text(unit, outer + unit) + "\n" + outer
        text.replaceSubrange(range, with: member.utf8)
    }

    /// The line break and the spaces before a member; `nil` if it is on the line of the member before.
    private func lead(before index: Int) -> [UInt8]? {
        let spaces = text[..<index].reversed().prefix { $0 == 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }
        let lead = Array(spaces.reversed())
        // Keep only the last line break, in case of an empty line.
        guard let end = lead.lastIndex(of: 0x0A) else { return nil }
        return Array(lead[end...])
    }

    /// The spaces at the beginning of a line.
    private func indentation(at index: Int) -> String {
        let start = text[..<index].lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
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
