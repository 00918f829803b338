import Testing

@testable import AccountHelpers

struct EventStreamParserTests {
    private func events(_ stream: String, by length: Int) -> (texts: [String], parser: EventStreamParser) {
        var parser = EventStreamParser(limit: 1000)
        var texts: [String] = []
        let bytes = Array(stream.utf8)
        for start in stride(from: 0, to: bytes.count, by: length) {
            let piece = Array(bytes[start..<min(start + length, bytes.count)])
            for event in parser.events(in: piece) {
                switch event {
                case .message(let data): texts.append(String(decoding: data, as: UTF8.self))
                case .tooLong: texts.append("(too long)")
                }
            }
        }
        return (texts, parser)
    }

    @Test(arguments: [1, 2, 3, 7, 1000])
    func `Reads events in pieces of any length`(length: Int) {
        let stream =
            "\u{FEFF}: comment\r\ndata: one\r\nid: 7\r\n\r\ndata:two\rdata: lines\r\revent: message\nretry: 250\ndata: {}\n\n"
            + "event: other\ndata: skipped\n\ndata\n\n\n\ndata: unfinished"
        let (texts, parser) = events(stream, by: length)
        #expect(texts == ["one", "two\nlines", "{}"])
        #expect(parser.lastEventID == "7")
        #expect(parser.retryMilliseconds == 250)
    }

    /// Otherwise a resumed stream lacks the event that the connection interrupted.
    @Test(arguments: ["id: b\ndata: x", "id: b\ndata: x\n", "data: x\nid: b\n"])
    func `Ignores the id of an event that has not ended`(half: String) {
        let (texts, parser) = events("id: a\ndata: w\n\n" + half, by: 100)
        #expect(texts == ["w"])
        #expect(parser.lastEventID == "a")
    }

    @Test func `Ignores an id that no header field can hold`() {
        let (_, parser) = events("id: a\n\nid: b\u{7F}\n\n", by: 100)
        #expect(parser.lastEventID == "a")
    }

    @Test(arguments: ["id\ndata: x\n\n", "id:\n\n", "id: \ndata: x\n\n"])
    func `An empty id means that a stream cannot be resumed`(event: String) {
        let (_, parser) = events("id: a\n\n" + event, by: 100)
        #expect(parser.lastEventID == nil)
    }

    @Test(arguments: [1, 7, 64, 10_000])
    func `Skips an event that is too long, and reads the next one`(length: Int) {
        let line = "data: " + String(repeating: "x", count: 1001) + "\n"
        let lines = String(repeating: "data: " + String(repeating: "x", count: 99) + "\n", count: 11)
        let (texts, parser) = events(
            "data: a\n\ndata: b\n\(line)id: 7\ndata: c\n\ndata: d\n\n\(lines)\nevent: other\n\(lines)\ndata: e\n\n",
            by: length)
        #expect(texts == ["a", "(too long)", "d", "(too long)", "e"])
        #expect(parser.lastEventID == "7")
    }
}
