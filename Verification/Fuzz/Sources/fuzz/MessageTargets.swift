@testable import AccountHelpers
import AccountSupport
import Foundation

let messageTargets = [
    FuzzTarget(name: "json-text", body: { readJSONText($0) }),
    FuzzTarget(name: "event-stream", body: { readEventStream($0) }),
]

// MARK: - JSON as text

private func readJSONText(_ bytes: [UInt8]) {
    // Foundation also reads other encodings, which contain NUL, and a byte order mark.
    let isPlain = String(validating: bytes, as: UTF8.self) != nil && !bytes.contains(0) && !bytes.starts(with: [0xEF])
    guard let text = JSONText(bytes) else {
        promise(!isPlain || !isJSON(bytes), "a text that Foundation reads is read")
        return
    }
    promise(isPlain, "a text is UTF-8")
    promise(JSONText(text.bytes) == text, "a text is read as it is written")
    promise(text.bytes.first.map { !" \t\r\n".utf8.contains($0) } ?? false, "there are no spaces before a text")
    promise(text.bytes.last.map { !" \t\r\n".utf8.contains($0) } ?? false, "there are no spaces after a text")
    promiseParts(of: text)
    promiseSameValue(text)
}

/// Whether Foundation reads a text.
private func isJSON(_ bytes: [UInt8]) -> Bool {
    // Foundation also accepts a comma after the last element or member.
    let hasComma = bytes.indices.contains { index in
        let next = bytes[(index + 1)...].first { !" \t\r\n".utf8.contains($0) }
        return bytes[index] == UInt8(ascii: ",") && (next == UInt8(ascii: "]") || next == UInt8(ascii: "}"))
    }
    return !hasComma && (try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)) != nil
}

/// Checks that each part of a JSON text is itself a JSON text, and that a text made of the parts has the same parts.
private func promiseParts(of text: JSONText) {
    let (members, elements) = (text.members, text.elements)
    for part in elements + members.flatMap({ [$0.name, $0.value] }) {
        promise(JSONText(part.bytes) == part, "a part is a text")
    }
    promise(JSONText(JSONText(array: elements).bytes)?.elements == elements, "an array has the elements it was made of")
    if let string = text.string {
        promise(JSONText(JSONText(string: string).bytes)?.string == string, "a string is read as it is written")
    }
    guard text.isObject else { return }
    let named = members.compactMap { member in member.name.string.map { (name: $0, value: member.value) } }
    let again = JSONText(JSONText(members: named).bytes)
    promise(again?.members.map(\.name.string) == named.map(\.name), "an object has the names it was made of")
    promise(again?.members.map(\.value) == named.map(\.value), "an object has the values it was made of")

    guard let name = named.last?.name else { return }
    let changed = text.setting(name, to: JSONText(string: "new"))
    promise(JSONText(changed.bytes) == changed, "a changed object is a text")
    promise(changed[name]?.string == "new", "the member has the new value")
    promise(
        changed.members.filter { $0.name.string != name } == members.filter { $0.name.string != name },
        "the other members are the same")
}

/// Checks that Foundation reads the same values.
private func promiseSameValue(_ text: JSONText) {
    guard let value = try? JSONSerialization.jsonObject(with: Data(text.bytes), options: .fragmentsAllowed) else {
        promise(exceedsFoundation(text), "Foundation reads a text")
        return
    }
    promise(isSame(text, value, depth: 0), "Foundation reads the same values")
}

/// Whether a text may have more levels than Foundation reads, a number that no type holds, or half of a surrogate pair.
private func exceedsFoundation(_ text: JSONText) -> Bool {
    let levels = text.bytes.count { $0 == UInt8(ascii: "[") || $0 == UInt8(ascii: "{") }
    let string = String(decoding: text.bytes, as: UTF8.self)
    return levels > 400 || string.contains(/[0-9][eE]|[0-9.]{16}|\\u[dD]/)
}

private func isSame(_ text: JSONText, _ value: Any, depth: Int) -> Bool {
    // Each level reads the levels below it again.
    guard depth < 8 else { return true }
    switch value {
    case let string as String: return text.string == string
    case let elements as [Any]:
        let texts = text.elements
        return text.isArray && texts.count == elements.count
            && zip(texts, elements).allSatisfy { isSame($0, $1, depth: depth + 1) }
    case let object as [String: Any]:
        let names = text.members.compactMap(\.name.string)
        guard text.isObject, Set(names) == Set(object.keys) else { return false }
        // Parsers differ in which of several members with one name they return.
        guard Set(names).count == names.count else { return true }
        return object.allSatisfy { name, value in text[name].map { isSame($0, value, depth: depth + 1) } ?? false }
    case is NSNull: return text.isNull
    default:
        // Foundation represents a boolean as a number.
        guard let boolean = text.boolean else { return text.isNumber }
        return value as? Bool == boolean
    }
}

// MARK: - Server-sent events

private func readEventStream(_ bytes: [UInt8]) {
    // The first two bytes are the lengths of the pieces and of the longest event.
    guard bytes.count >= 2 else { return }
    let limit = Int(bytes[1]) * 4
    let stream = Array(bytes[2...])
    let whole = Reading(stream, by: stream.count, limit: limit)
    let expected = ExpectedEvents(stream)
    for length in [1, 1 + Int(bytes[0] % 16)] {
        promise(Reading(stream, by: length, limit: limit) == whole, "pieces of any length contain the same events")
    }
    promise(whole.messages.allSatisfy { $0.count <= limit }, "no event is longer than the limit")
    promise(expected.longest <= limit || whole.isTooLong, "an event that is longer than the limit is reported")
    if whole.isTooLong { return }
    promise(whole.messages == expected.events, "the events are those of the standard")
    // An empty id means that the stream cannot be resumed.
    promise(whole.lastEventID ?? "" == expected.lastEventID ?? "", "only a complete event has an id")
    promise(whole.lastEventID?.utf8.allSatisfy { 0x20...0x7E ~= $0 } != false, "a header field can hold the id")
    promise(whole.retryMilliseconds.map { $0 >= 0 } != false, "the pause is not negative")
}

/// What the parser returns for a stream in pieces.
private struct Reading: Equatable {
    var events: [EventStreamParser.Event] = []
    var lastEventID: String?
    var retryMilliseconds: Int?

    init(_ stream: [UInt8], by length: Int, limit: Int) {
        var parser = EventStreamParser(limit: limit)
        for start in stride(from: 0, to: stream.count, by: max(length, 1)) {
            events += parser.events(in: Array(stream[start..<min(start + length, stream.count)]))
        }
        lastEventID = parser.lastEventID
        retryMilliseconds = parser.retryMilliseconds
    }

    var isTooLong: Bool { events.contains(.tooLong) }

    /// The data of the events that are not too long.
    var messages: [[UInt8]] { events.compactMap { if case .message(let data) = $0 { data } else { nil } } }
}

/// The events of a complete stream, line by line (HTML Living Standard, section 9.2.6).
private struct ExpectedEvents {
    var events: [[UInt8]] = []
    var lastEventID: String?

    /// The length of the longest data of an event for MCP.
    var longest = 0

    init(_ stream: [UInt8]) {
        var stream = stream
        if stream.starts(with: [0xEF, 0xBB, 0xBF]) { stream.removeFirst(3) }
        // An unfinished line does not count.
        var lines: [[UInt8]] = [[]]
        var isAfterReturn = false
        for byte in stream {
            defer { isAfterReturn = byte == 0x0D }
            if byte == 0x0A, isAfterReturn { continue }
            if byte == 0x0A || byte == 0x0D { lines.append([]) } else { lines[lines.count - 1].append(byte) }
        }
        var data: [[UInt8]] = []
        var type = "message"
        var id: String?
        for line in lines.dropLast() {
            let end = line.firstIndex(of: UInt8(ascii: ":")) ?? line.count
            let name = String(decoding: line[..<end], as: UTF8.self)
            var value = Array(line[min(end + 1, line.count)...])
            if value.first == 0x20 { value.removeFirst() }
            switch name {
            case "data": data.append(value)
            case "event": type = value.isEmpty ? "message" : String(decoding: value, as: UTF8.self)
            case "id" where value.allSatisfy({ 0x20...0x7E ~= $0 }): id = String(decoding: value, as: UTF8.self)
            default: break
            }
            let joined = Array(data.joined(separator: [0x0A]))
            if type == "message" { longest = max(longest, joined.count) }
            guard line.isEmpty else { continue }
            if let id { lastEventID = id }
            if !joined.isEmpty, type == "message" { events.append(joined) }
            data = []
            type = "message"
        }
    }
}
