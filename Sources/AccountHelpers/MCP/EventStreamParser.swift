/// Splits a stream of server-sent events into events. The data of an event that is too long is skipped.
///
/// Source: HTML Living Standard, section 9.2.6, "Interpreting an event stream". Lines end with LF, CRLF or CR.
struct EventStreamParser {
    enum Event: Equatable {
        /// The lines of data, joined by newlines.
        case message([UInt8])

        /// An event that is longer than the limit.
        case tooLong
    }

    /// The id of the last complete event, with which a stream can be resumed.
    private(set) var lastEventID: String?

    /// The pause that the server requests before a new connection, in milliseconds.
    private(set) var retryMilliseconds: Int?

    let limit: Int
    private var line: [UInt8] = []
    private var data: [UInt8] = []
    /// Takes effect at the end of the event: if the connection breaks before it, the server must send the event again.
    private var nextEventID: String?
    private var hasData = false
    private var type = ""
    private var lastWasReturn = false
    private var isFirstLine = true

    /// Whether the event, or the line, is longer than the limit.
    private var isTooLong = false
    private var isLineTooLong = false

    /// - Parameters:
    ///   - limit: The maximum length of an event, in bytes.
    ///   - lastEventID: The id of an earlier part of the stream.
    ///   - retryMilliseconds: The pause that the earlier part requested.
    init(limit: Int, lastEventID: String? = nil, retryMilliseconds: Int? = nil) {
        self.limit = limit
        self.lastEventID = lastEventID
        nextEventID = lastEventID
        self.retryMilliseconds = retryMilliseconds
    }

    /// Returns the events that end in a piece of the stream.
    mutating func events(in piece: [UInt8]) -> [Event] {
        var events: [Event] = []
        var start = piece.startIndex
        // CR ends a line, and an LF after it belongs to the same line end.
        if lastWasReturn, piece.first == 0x0A { start += 1 }
        if !piece.isEmpty { lastWasReturn = false }
        while let end = piece[start...].firstIndex(where: { $0 == 0x0A || $0 == 0x0D }) {
            append(piece[start..<end], &events)
            if let event = endLine() { events.append(event) }
            start = end + 1
            if piece[end] == 0x0D {
                if start == piece.endIndex {
                    lastWasReturn = true
                } else if piece[start] == 0x0A {
                    start += 1
                }
            }
        }
        append(piece[start...], &events)
        return events
    }

    /// Appends bytes to the line. Reports an event as soon as it is too long: its end may never arrive.
    private mutating func append(_ bytes: ArraySlice<UInt8>, _ events: inout [Event]) {
        if !isTooLong, line.count + bytes.count + data.count > limit {
            isTooLong = true
            data = []
            if isMessage { events.append(.tooLong) }
        }
        if isLineTooLong || line.count + bytes.count > limit {
            isLineTooLong = true
            line = []
        } else {
            line += bytes
        }
    }

    private mutating func endLine() -> Event? {
        if isFirstLine {
            isFirstLine = false
            if line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }
        }
        defer {
            line = []
            isLineTooLong = false
        }
        if isLineTooLong { return nil }
        guard !line.isEmpty else { return dispatch() }
        let colon = line.firstIndex(of: UInt8(ascii: ":"))
        // A line that begins with a colon is a comment.
        guard colon != line.startIndex else { return nil }
        let name = line[..<(colon ?? line.endIndex)]
        var value = colon.map { line[($0 + 1)...] } ?? []
        if value.first == 0x20 { value = value.dropFirst() }
        switch String(decoding: name, as: UTF8.self) {
        case "data":
            if isTooLong { break }
            if hasData { data.append(0x0A) }
            data += value
            hasData = true
        case "event": type = String(decoding: value, as: UTF8.self)
        case "id":
            // The id is sent in a header field later. An empty one means that the stream cannot be resumed from here.
            guard value.allSatisfy({ 0x20...0x7E ~= $0 }) else { break }
            nextEventID = value.isEmpty ? nil : String(decoding: value, as: UTF8.self)
        case "retry":
            if let time = Int(String(decoding: value, as: UTF8.self)), time >= 0 { retryMilliseconds = time }
        default: break
        }
        return nil
    }

    /// Ends the event. An event of another type than `message` is not for MCP.
    private mutating func dispatch() -> Event? {
        lastEventID = nextEventID
        defer {
            data = []
            hasData = false
            isTooLong = false
            type = ""
        }
        return data.isEmpty || !isMessage ? nil : .message(data)
    }

    private var isMessage: Bool { type.isEmpty || type == "message" }
}
