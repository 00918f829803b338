import Terminal
import Testing

/// The content of a file on a terminal: the user sees what it contains, and the content cannot control the terminal.
struct TerminalTextTests {
    @Test(arguments: [
        ("one\ntwo\n", "one\ntwo\n"), ("a\tb", "a\tb"), ("", ""), ("\n\n", "\n\n"), ("a\r\nb\r\n", "a\r\nb\r\n"),
        ("Grüße 👩🏽‍💻 می\u{200C}خواهم\n", "Grüße 👩🏽‍💻 می\u{200C}خواهم\n"),
        // Colors, a title, the clipboard (OSC 52), a report of the terminal, an 8-bit sequence, and a cleared line.
        ("\u{1B}[31mred\u{1B}[0m", #"\u{1B}[31mred\u{1B}[0m"#), ("\u{1B}]0;title\u{7}", #"\u{1B}]0;title\u{7}"#),
        ("\u{1B}]52;c;cm0gLXJmCg==\u{1B}\\", #"\u{1B}]52;c;cm0gLXJmCg==\u{1B}\"#), ("\u{1B}[6n\n", "\\u{1B}[6n\n"),
        ("\u{9B}2J", #"\u{9B}2J"#), ("shown\rhidden\n", "shown\\u{D}hidden\n"), ("a\u{8}\u{7F}", #"a\u{8}\u{7F}"#),
        ("\r", #"\u{D}"#), ("\u{0}", #"\u{0}"#),
        // Text that looks like other text.
        ("if \u{202E}x\u{2066}\n", "if \\u{202E}x\\u{2066}\n"), ("a\u{2028}b", #"a\u{2028}b"#),
        ("a\u{E0041}", #"a\u{E0041}"#),
    ])
    func `Escapes content that would control a terminal`(content: String, text: String) {
        #expect(content.escapedForTerminal.utf8.elementsEqual(text.utf8))
    }

    @Test(arguments: ["👩🏽‍💻", "می\u{200C}خواهم", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "שלום!\u{200F}", "\u{1FAFF}", "Zoë", ""])
    func `Shows names with joiners unchanged`(name: String) {
        #expect(name.shown.utf8.elementsEqual(name.utf8))
    }
}
