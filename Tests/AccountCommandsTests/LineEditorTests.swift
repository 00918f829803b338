import Testing

@testable import AccountCommands

/// Lines that are typed or pasted on a terminal without canonical mode.
@Suite struct LineEditorTests {
    typealias Event = LineEditor.Event

    private func events(_ text: String, limit: Int = 100, keys: LineEditor.Keys = .init()) -> [Event] {
        var editor = LineEditor(limit: limit)
        editor.keys = keys
        return text.utf8.compactMap { editor.type($0) }
    }

    @Test(arguments: [
        ("abc\n", [Event.line("abc")]), ("abc\r", [.line("abc")]), ("a\nb\n", [.line("a"), .line("b")]),
        ("\n", [.line("")]),
        ("abd\u{7F}c\n", [.line("abc")]), ("abd\u{08}c\n", [.line("abc")]), ("\u{7F}\u{7F}a\n", [.line("a")]),
        // A character of several bytes is one character.
        ("aü\u{7F}b\n", [.line("ab")]), ("a😀\u{7F}b\n", [.line("ab")]), ("aü\n", [.line("aü")]),
        ("wrong\u{15}right\n", [.line("right")]), ("one two \u{17}three\n", [.line("one three")]),
        // Ctrl-D ends the input, or a line that has begun.
        ("\u{04}", [.end]), ("ab\u{04}", [.line("ab")]), ("a\u{7F}\u{04}", [.end]),
        // Keys without text: arrows, F1, Alt, and the marks around pasted text.
        ("a\u{1B}[D\u{1B}[1;5Cb\n", [.line("ab")]), ("a\u{1B}OPb\n", [.line("ab")]), ("\u{1B}x\n", [.line("x")]),
        ("\u{1B}[200~http://a/?b\u{1B}[201~\n", [.line("http://a/?b")]), ("\u{1B}[\na\n", [.line(""), .line("a")]),
        ("a\u{01}\u{0B}\u{07}b\n", [.line("ab")]), ("a\tb\n", [.line("a b")]),
        // Controls of two bytes (ECMA-48, section 5.3), which some terminals obey, and other characters with the same first byte.
        ("a\u{9B}2Jb\u{85}\n", [.line("a2Jb")]), ("a\u{A0}\u{BF}b\n", [.line("a\u{A0}\u{BF}b")]),
    ])
    func `Edits a line as the system does`(keys: String, expected: [Event]) {
        #expect(events(keys) == expected)
    }

    @Test func `Takes a line up to the limit, and discards a longer one`() {
        let long = String(repeating: "x", count: 10_000)
        #expect(events(long + "\n", limit: 10_000) == [.line(long)])
        #expect(events(long + "y\u{7F}\nok\n", limit: 10_000) == [.tooLong, .line("ok")])
        #expect(events(long + "y\u{04}", limit: 10_000) == [.tooLong])
    }

    @Test func `Obeys the keys of the user`() {
        let keys = LineEditor.Keys(erase: 0x23, eraseWord: 0, eraseLine: 0x40, end: 0x1A)
        #expect(events("ab#c\n", keys: keys) == [.line("ac")])
        #expect(events("ab@c\n", keys: keys) == [.line("c")])
        #expect(events("a \u{17}\u{15}\u{04}b\n", keys: keys) == [.line("a b")])
        #expect(events("\u{1A}", keys: keys) == [.end])
    }

    @Test func `Shows each change of the line`() {
        var editor = LineEditor(limit: 4)
        let erased = [UInt8]("\u{8} \u{8}".utf8)
        let rows: [(key: UInt8, echo: [UInt8])] = [
            (0x7F, []), (0x61, [0x61]), (0xC3, [0xC3]), (0xBC, [0xBC]), (0x7F, erased), (0x09, [0x20]), (0x62, [0x62]),
            (0x63, [0x63]), (0x64, []), (0x17, erased + erased), (0x15, erased + erased), (0x1B, []), (0x5B, []),
            (0x44, []),
            (0x04, []), (0x0A, [0x0A]),
        ]
        for (key, echo) in rows {
            _ = editor.type(key)
            #expect(editor.echo == echo, "\(key)")
        }
    }

    @Test func `Shows no control, and other characters as a whole`() {
        var editor = LineEditor(limit: 100)
        var shown: [[UInt8]] = []
        for key in "a\u{9B}\u{9D}\u{80}\u{9F}\u{A0}é".utf8 {
            _ = editor.type(key)
            shown.append(editor.echo)
        }
        #expect(shown == [[0x61], [], [], [], [], [], [], [], [], [], [0xC2, 0xA0], [0xC3], [0xA9]])
    }
}
