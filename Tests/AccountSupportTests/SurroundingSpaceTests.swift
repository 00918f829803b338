import AccountSupport
import Testing

/// Values that other programs wrote, from every source.
struct SurroundingSpaceTests {
    @Test(arguments: [
        ("token", "token"), ("token\n", "token"), ("token\r\n", "token"), ("token\r", "token"), ("\n\ntoken", "token"),
        ("  token\t ", "token"), ("\u{FEFF}token", "token"), ("\u{FEFF} token\n\n", "token"),
        ("\u{A0}token\u{A0}", "token"),
        ("token\u{200B}", "token"), ("\u{0B}token\u{0C}", "token"), ("two words\n", "two words"), ("a\nb\n", "a\nb"),
        ("a\u{FEFF}b", "a\u{FEFF}b"), ("“token”", "“token”"), ("à ", "à"), (" \r\n\u{FEFF}", ""), ("", ""),
    ])
    func `Removes only the spaces around a value`(text: String, expected: String) {
        #expect(text.trimmed == expected)
        #expect(Array(text.utf8).trimmed.elementsEqual(expected.utf8))
    }

    @Test(arguments: [
        ("token\nrest", "token"), ("\r\n \n token \r\nrest", "token"), ("\u{FEFF}token\rrest", "token"), (" \n ", ""),
        ("two words\nrest", "two words"),
    ])
    func `Finds the first line with a value`(text: String, expected: String) {
        #expect(Array(text.utf8).firstLine.elementsEqual(expected.utf8))
    }

    @Test func `Removes only the byte order mark before a password`() {
        #expect(Array("\u{FEFF} pass word ".utf8).withoutByteOrderMark.elementsEqual(" pass word ".utf8))
        #expect(Array(" \u{FEFF}".utf8).withoutByteOrderMark.elementsEqual(" \u{FEFF}".utf8))
    }
}
