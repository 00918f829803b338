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

    @Test(arguments: [0, -3, 1])
    func `Puts each word on its own line if there is no room`(columns: Int) {
        #expect("one two".lines(within: columns) == ["one", "two"])
    }
}
