import Testing

@testable import AccountKit

@Suite("Text from a service")
struct ServerTextTests {
    private static let canary = "CANARY/f3b1c0de.5e7+x_y~z"

    private let text = ServerText(secrets: [Secret(Self.canary), Secret("pass word"), Secret("two  blanks")])

    @Test(
        arguments: [
            ("expired", "expired"), ("  two\n lines\t", "two lines"), ("\u{1B}]0;title\u{7}x", "]0;titlex"),
            ("a\u{202E}b\u{200B}c\u{2028}d\u{9B}e\u{E0041}f", "abc def"), ("Grüße 👋", "Grüße 👋"),
            ("", nil), (" \r\n", nil), ("\u{0}", nil), ("\u{200D}", nil), ("\u{FE0F}\u{3164}", nil),
            ("❤\u{FE0F}", "❤\u{FE0F}"), ("\u{E0041} \u{2060}", nil),
            // Emoji and words that need joiners, a mark of direction, and the flag of Scotland.
            ("👩🏽‍💻 is signed in", "👩🏽‍💻 is signed in"), ("می\u{200C}خواهم", "می\u{200C}خواهم"),
            ("שלום!\u{200F}", "שלום!\u{200F}"), ("🏴󠁧󠁢󠁳󠁣󠁴󠁿", "🏴󠁧󠁢󠁳󠁣󠁴󠁿"),
        ])
    func `Removes invisible characters and normalizes spaces in service text`(_ sent: String, _ shown: String?) {
        #expect(text.shown(sent).map { Array($0.utf8) } == shown.map { Array($0.utf8) })
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
            String(canary.prefix(5)) + "\u{200D}" + canary.dropFirst(5), "pa\u{200F}ss\u{200C} word",
            // Other characters without a shape: of variants, of combination, and Hangul and Khmer fillers.
            "pa\u{FE0F}ss word", "pa\u{E0100}ss word", "pa\u{34F}ss word", "pa\u{115F}ss\u{3164} word",
            "pa\u{17B4}ss wo\u{180B}rd",
        ])
    func secret(_ sent: String) {
        #expect(text.shown(sent) == nil)
    }

    @Test("Keeps a service's text if a secret is empty or longer than the text")
    func oddSecrets() {
        #expect(ServerText(secrets: [Secret(""), Secret("longer than the text")]).shown("text") == "text")
    }

    @Test(arguments: [
        ("plain", "plain"), ("", ""), ("\(canary)", "[token removed]"),
        ("a \(canary)\(canary) b", "a [token removed][token removed] b"),
        ("CANARY/f3b1CANARY/f3b1c0de.5e7+x_y~z!", "CANARY/f3b1[token removed]!"),
        (#"{"a\n":"\u00e9 100%"}"#, #"{"a\n":"\u00e9 100%"}"#),
        // The escapes of JSON and of URLs.
        (#""CANARY\/f3b1c0de.5e7\u002Bx_y~z""#, #""[token removed]""#),
        (#"\u0043ANARY/f3b1c0de.5e7+x_y~z"#, "[token removed]"),
        ("?t=CANARY%2ff3b1c0de.5e7%2Bx_y%7Ez&u", "?t=[token removed]&u"),
        // The beginning of a token, and a secret that is too short to search for.
        (String(canary.dropLast()), String(canary.dropLast())), (#"CANARY\"#, #"CANARY\"#), ("%4", "%4"),
        ("pin", "pin"),
    ])
    func `Replaces tokens in text that arrives in pieces`(sent: String, passed: String) {
        let text = ServerText(secrets: [Secret(Self.canary), Secret("pin")])
        for length in 1...30 {
            var replacement = ServerText.Replacement(of: text)
            var result: [UInt8] = []
            let bytes = Array(sent.utf8)
            for start in stride(from: 0, to: bytes.count, by: length) {
                result += replacement.next(Array(bytes[start..<min(start + length, bytes.count)]))
            }
            result += replacement.last()
            #expect(String(decoding: result, as: UTF8.self) == passed, "in pieces of \(length)")
        }
    }

    /// Otherwise an event of a stream would wait for the next one.
    @Test func `Holds back only the text in which a token may begin`() {
        var replacement = ServerText.Replacement(of: ServerText(secrets: [Secret(Self.canary)]))
        #expect(replacement.next(Array("data: x CAN\n\n".utf8)) == Array("data: x CAN\n\n".utf8))
        #expect(replacement.next(Array("data: CAN".utf8)) == Array("data: ".utf8))
        #expect(replacement.next(Array("CAN".utf8)) == Array("CAN".utf8))
        #expect(replacement.last() == Array("CAN".utf8))
    }

    @Test(arguments: ["CANARY%2Ff3b1c0de.5e7%2bx_y~z", #"CANARY\/f3b1c0de.5e7\u002bx_y~z"#])
    func `Drops a service's text that repeats a secret with escapes`(sent: String) {
        #expect(text.shown("the token \(sent) has expired") == nil)
    }
}
