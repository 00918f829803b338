import AccountSupport
import Testing

/// Text of a service or of another program is shown unchanged, except characters that control a terminal, or that make
/// text look like other text.
@Suite struct DisplayTextTests {
    @Test func `Replaces control and reordering characters in shown text`() {
        #expect("a\u{1B}[2Jb".shown == "a\u{FFFD}[2Jb")
        #expect("a\nb\tc\rd".shown == "a\u{FFFD}b\u{FFFD}c\u{FFFD}d")
        #expect("a\u{9B}31mb\u{7F}".shown == "a\u{FFFD}31mb\u{FFFD}")
        #expect("abc\u{202E}fed".shown == "abc\u{FFFD}fed")
        #expect("a\u{2066}b\u{2069}".shown == "a\u{FFFD}b\u{FFFD}")
        #expect("a\u{2028}b".shown == "a\u{FFFD}b")
        // Tags that spell hidden text, also after a flag.
        #expect("a\u{E0041}\u{E0042}".shown == "a\u{FFFD}\u{FFFD}")
        #expect("\u{1F3F4}\u{E0041}\u{E007F}".shown == "\u{1F3F4}\u{FFFD}\u{FFFD}")
        #expect("\u{FFFF}\u{E0FFF}".shown == "\u{FFFD}\u{FFFD}")
    }

    @Test(
        arguments: [
            "Zoë アリス", "alice@example.com", "",
            // A family, a person with a profession, and a heart on fire have joiners.
            "👨‍👩‍👧‍👦", "👩🏽‍💻", "❤️‍🔥",
            // Persian and Hindi words with joiners, Hebrew with a mark of direction, and Khmer with spaces of no width.
            "می\u{200C}خواهم", "क्\u{200D}ष", "שלום!\u{200F}", "ភាសា\u{200B}ខ្មែរ", "Dampf\u{AD}schiff",
            // The flags of Scotland and of Texas.
            "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "\u{1F3F4}\u{E0075}\u{E0073}\u{E0074}\u{E0078}\u{E007F}",
            // Private use, and a character that may get a meaning.
            "Kim's MacBook \u{F8FF}", "\u{1FAFF}", "\u{0600}١",
        ])
    func `Shows text with joiners and other invisible characters unchanged`(text: String) {
        #expect(Array(text.shown.unicodeScalars) == Array(text.unicodeScalars))
        #expect(text.escapingDisplayControls.utf8.elementsEqual(text.utf8))
    }

    @Test func `Escapes control and reordering characters in JSON`() {
        #expect("\"a\u{9B}31mb\u{7F}\"".escapingDisplayControls == #""a\u009b31mb\u007f""#)
        #expect("\"\u{202E}\u{2028}\u{E0041}é\"".escapingDisplayControls == #""\u202e\u2028\udb40\udc41é""#)
        #expect(#"{"name":"Zoë アリス"}"#.escapingDisplayControls == #"{"name":"Zoë アリス"}"#)
    }
}
