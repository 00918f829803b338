import AccountKit
import Testing

@testable import AccountHTTP

@Suite("Text from a service")
struct ServerTextTests {
    private let text = ServerText(secrets: [Secret(canary), Secret("pass word"), Secret("two  blanks")])

    @Test(
        arguments: [
            ("expired", "expired"), ("  two\n lines\t", "two lines"), ("\u{1B}]0;title\u{7}x", "]0;titlex"),
            ("a\u{202E}b\u{200B}c\u{2028}d\u{9B}e\u{E0041}f", "abc def"), ("Grüße 👋", "Grüße 👋"),
            ("", nil), (" \r\n", nil), ("\u{0}", nil),
        ])
    func `Removes invisible characters and normalizes spaces in service text`(_ sent: String, _ shown: String?) {
        #expect(text.shown(sent) == shown)
    }

    @Test("Truncates a service's text at 200 characters")
    func long() {
        #expect(text.shown(String(repeating: "é", count: 200))?.count == 200)
        let cut = text.shown(String(repeating: "é", count: 201))
        #expect(cut?.count == 200)
        #expect(cut?.hasSuffix("…") == true)
        #expect(text.shown(String(repeating: "e", count: 5000)) == nil)
    }

    @Test(
        "Drops a service's text that repeats a secret",
        arguments: [
            canary, "two  blanks", "the token \(canary) has expired", String(repeating: "x", count: 190) + canary,
            "pass word",
            "pass\nword", "pass \u{7} word", String(canary.prefix(5)) + "\u{200B}" + canary.dropFirst(5),
        ])
    func secret(_ sent: String) {
        #expect(text.shown(sent) == nil)
    }

    @Test("Keeps a service's text if a secret is empty or longer than the text")
    func oddSecrets() {
        #expect(ServerText(secrets: [Secret(""), Secret("longer than the text")]).shown("text") == "text")
    }
}
