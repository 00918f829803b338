import Testing

@testable import AccountHelpers

struct EventStreamParserTests {
    private func events(_ stream: String, by length: Int) throws -> (texts: [String], parser: EventStreamParser) {
        var parser = EventStreamParser(limit: 1000)
        var texts: [String] = []
        let bytes = Array(stream.utf8)
        for start in stride(from: 0, to: bytes.count, by: length) {
            let piece = Array(bytes[start..<min(start + length, bytes.count)])
            texts += try parser.events(in: piece).map { String(decoding: $0.data, as: UTF8.self) }
        }
        return (texts, parser)
    }

    @Test(arguments: [1, 2, 3, 7, 1000])
    func `Reads events in pieces of any length`(length: Int) throws {
        let stream =
            "\u{FEFF}: comment\r\ndata: one\r\nid: 7\r\n\r\ndata:two\rdata: lines\r\revent: message\nretry: 250\ndata: {}\n\n"
            + "event: other\ndata: skipped\n\ndata\n\n\n\ndata: unfinished"
        let (texts, parser) = try events(stream, by: length)
        #expect(texts == ["one", "two\nlines", "{}"])
        #expect(parser.lastEventID == "7")
        #expect(parser.retryMilliseconds == 250)
    }

    /// Otherwise a resumed stream lacks the event that the connection interrupted.
    @Test(arguments: ["id: b\ndata: x", "id: b\ndata: x\n", "data: x\nid: b\n"])
    func `Ignores the id of an event that has not ended`(half: String) throws {
        let (texts, parser) = try events("id: a\ndata: w\n\n" + half, by: 100)
        #expect(texts == ["w"])
        #expect(parser.lastEventID == "a")
    }

    @Test func `Ignores an id that no header field can hold`() throws {
        let (_, parser) = try events("id: a\n\nid: b\u{7F}\n\n", by: 100)
        #expect(parser.lastEventID == "a")
    }

    @Test func `Limits the length of an event`() {
        #expect(throws: EventStreamParser.TooLong.self) {
            try events("data: " + String(repeating: "x", count: 1001), by: 64)
        }
        #expect(throws: EventStreamParser.TooLong.self) {
            try events(String(repeating: "data: " + String(repeating: "x", count: 99) + "\n", count: 11), by: 64)
        }
    }
}
