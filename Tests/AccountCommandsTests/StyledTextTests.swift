import Testing

@testable import AccountCommands

@Suite struct StyledTextTests {
    private let text: StyledText = "Signed in as \(bold: "alice") at \("example.com")."

    @Test func `Writes a message with a colored symbol and bold names on a terminal`() {
        #expect(
            text.rendered(with: .success, isStyled: true)
                == "\u{1B}[32m✓\u{1B}[0m Signed in as \u{1B}[1malice\u{1B}[0m at example.com.")
        #expect(StyledText("x").rendered(with: .warning, isStyled: true) == "\u{1B}[33m!\u{1B}[0m x")
        #expect(StyledText("x").rendered(with: .failure, isStyled: true) == "\u{1B}[31m✗\u{1B}[0m x")
    }

    @Test(arguments: [true, false])
    func `Removes control characters and line breaks from interpolated values`(isStyled: Bool) {
        let name = "al\u{1B}[31mice\nroot"
        let shown: StyledText = "\(bold: name) \(name)"
        let rendered = shown.rendered(isStyled: isStyled)
        #expect(!rendered.contains("\u{1B}[31m"))
        #expect(!rendered.contains("\n"))
    }

    @Test func `Keeps a message's line breaks but no other control characters`() {
        #expect(StyledText("one\ntwo\u{7}").rendered(isStyled: false) == "one\ntwo\u{FFFD}")
    }
}
