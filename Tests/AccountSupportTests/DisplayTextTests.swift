import AccountSupport
import Testing

@Suite struct DisplayTextTests {
    @Test func `Replaces control and reordering characters in shown text`() {
        #expect("a\u{1B}[2Jb".shown == "a\u{FFFD}[2Jb")
        #expect("a\nb\tc\rd".shown == "a\u{FFFD}b\u{FFFD}c\u{FFFD}d")
        #expect("a\u{9B}31mb\u{7F}".shown == "a\u{FFFD}31mb\u{FFFD}")
        #expect("abc\u{202E}fed".shown == "abc\u{FFFD}fed")
        #expect("a\u{2028}b".shown == "a\u{FFFD}b")
        for name in ["Zoë アリス", "alice@example.com", ""] { #expect(name.shown == name) }
    }

    @Test func `Escapes control and reordering characters in JSON`() {
        #expect("\"a\u{9B}31mb\u{7F}\"".escapingDisplayControls == #""a\u009b31mb\u007f""#)
        #expect("\"\u{202E}\u{2028}\u{E0041}é\"".escapingDisplayControls == #""\u202e\u2028\udb40\udc41é""#)
        #expect(#"{"name":"Zoë アリス"}"#.escapingDisplayControls == #"{"name":"Zoë アリス"}"#)
    }
}
