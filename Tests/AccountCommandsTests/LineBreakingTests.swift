import Testing

@testable import AccountCommands

@Suite struct LineBreakingTests {
    @Test func `Breaks a text between words`() {
        #expect("one two three".lines(within: 13) == ["one two three"])
        #expect("run `rm 'a  b'` now, or  later".lines(within: 18) == ["run `rm 'a  b'`", "now, or  later"])
        #expect("remove `a`b` to go on".lines(within: 8) == ["remove `a`b` to go on"])
        #expect("one two three".lines(within: 12) == ["one two", "three"])
        #expect("one two three".lines(within: 7) == ["one two", "three"])
        #expect("one two three".lines(within: 6) == ["one", "two", "three"])
        #expect("".lines(within: 5) == [""])
        #expect("アリス アリス".lines(within: 8) == ["アリス", "アリス"])
    }

    @Test func `Keeps a long word and a command on one line`() {
        #expect("see /a/very/long/path there".lines(within: 8) == ["see", "/a/very/long/path", "there"])
        #expect(
            "change: run `chmod go-w '/a b'`, or ask".lines(within: 14)
                == ["change: run", "`chmod go-w '/a b'`,", "or ask"])
        #expect("run `a` or `b c` now".lines(within: 10) == ["run `a` or", "`b c` now"])
    }

    @Test func `Breaks each line of a message, but no command or URL to copy`() {
        let text =
            "account: the service could not be reached\n  Check the address, and try again.\n\n    account login URL --device\n"
        #expect(
            text.wrapped(within: 20) == """
                account: the service
                could not be reached
                  Check the address,
                  and try again.

                    account login URL --device

                """)
        #expect(text.wrapped(within: nil) == text)
        #expect("Enter a name: ".wrapped(within: 10) == "Enter a\nname: ")
    }

    @Test func `The codes of colors take no columns`() {
        let styled = "\u{1B}[32m✓\u{1B}[0m Signed in as \u{1B}[1malice\u{1B}[0m here"
        #expect(styled.lines(within: 20) == [String(styled.dropLast(5)), "here"])
        #expect(styled.lines(within: 25) == [styled])
    }

    @Test(arguments: [0, -3, 1])
    func `Puts each word on its own line if there is no room`(columns: Int) {
        #expect("one two".lines(within: columns) == ["one", "two"])
    }
}
