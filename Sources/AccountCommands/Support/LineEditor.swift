/// A line that the user types or pastes on a terminal that passes on each key at once. It edits the line as the system does
/// in canonical mode (termios(3)), but has no limit of 4,095 bytes.
struct LineEditor {
    /// The keys that edit, as the user has configured them. A key with the value 0 is disabled.
    struct Keys: Equatable {
        var erase: UInt8 = 0x7F
        var eraseWord: UInt8 = 0x17
        var eraseLine: UInt8 = 0x15
        var end: UInt8 = 0x04

        /// Whether the terminal shows what the user types.
        var areShown = true
    }

    enum Event: Equatable {
        case line(String)
        /// The line is longer than the limit, and was discarded.
        case tooLong
        case end
    }

    /// The part of an escape sequence that has arrived (ECMA-48, section 5.4), such as that of an arrow key or the marks
    /// around pasted text.
    private enum Escape { case none, begun, sequence, single }

    var keys = Keys()

    /// The output that shows the last change, for the terminal.
    private(set) var echo: [UInt8] = []

    private let limit: Int
    private var line: [UInt8] = []
    private var isTooLong = false
    private var escape = Escape.none

    /// Whether the user has typed more than spaces since the last line.
    var hasText: Bool { isTooLong || line.contains { $0 != 0x20 } }

    init(limit: Int) { self.limit = limit }

    /// Adds a key. Returns an event if the key ends the line.
    mutating func type(_ key: UInt8) -> Event? {
        echo = []
        if isPartOfEscape(key) { return nil }
        switch key {
        case 0x0A, 0x0D:
            echo = [0x0A]
            return finish()
        case keys.end where key != 0:
            guard line.isEmpty, !isTooLong else { return finish() }
            return .end
        case keys.eraseLine where key != 0: while eraseCharacter() {}
        case keys.eraseWord where key != 0:
            while line.last == 0x20 { _ = eraseCharacter() }
            while let last = line.last, last != 0x20 { _ = eraseCharacter() }
        // Terminals send either of the two, whatever the user has configured.
        case keys.erase where key != 0, 0x08, 0x7F: _ = eraseCharacter()
        case 0x09, 0x20...: append(key == 0x09 ? 0x20 : key)
        default: break
        }
        return nil
    }

    private mutating func append(_ byte: UInt8) {
        guard line.count < limit else {
            isTooLong = true
            return
        }
        // U+0080 to U+009F are controls, which some terminals obey. Their first byte is shown only with the second.
        let isSecond = line.last == Self.controlStart
        if isSecond, 0x80...0x9F ~= byte {
            line.removeLast()
            return
        }
        line.append(byte)
        echo = (isSecond ? [Self.controlStart] : []) + (byte == Self.controlStart ? [] : [byte])
    }

    /// The first byte of a control, and of other characters, in UTF-8.
    private static let controlStart: UInt8 = 0xC2

    private mutating func finish() -> Event {
        defer { (line, isTooLong) = ([], false) }
        return isTooLong ? .tooLong : .line(String(decoding: line, as: UTF8.self))
    }

    /// Removes a character of one or more bytes. Returns `false` if the line is empty.
    private mutating func eraseCharacter() -> Bool {
        guard !line.isEmpty else { return false }
        while let last = line.popLast(), last & 0xC0 == 0x80 {}
        echo += [0x08, 0x20, 0x08]
        return true
    }

    private mutating func isPartOfEscape(_ key: UInt8) -> Bool {
        // A control character ends the sequence, and keeps its meaning.
        guard key >= 0x20 || key == 0x1B else {
            escape = .none
            return false
        }
        switch escape {
        case _ where key == 0x1B: escape = .begun
        case .none: return false
        case .begun where key == UInt8(ascii: "["): escape = .sequence
        case .begun where key == UInt8(ascii: "O"): escape = .single
        case .begun:
            escape = .none
            return false
        case .sequence: if (0x40...0x7E).contains(key) { escape = .none }
        case .single: escape = .none
        }
        return true
    }
}
