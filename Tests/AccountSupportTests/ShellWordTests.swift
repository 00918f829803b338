import AccountSupport
import Testing

struct ShellWordTests {
    @Test(arguments: ["/home/alice/.local/share/account", "a", "A_b-c.9", "1000", "x=y@z:1,2%3+4"])
    func `Leaves a plain path unquoted`(text: String) {
        #expect(text.shellWord == text)
    }

    @Test(arguments: [
        ("", "''"), ("/home/al ice", "'/home/al ice'"), ("$HOME", "'$HOME'"), ("a'b", #"'a'\''b'"#), ("~", "'~'"),
        ("a\nb", "'a\nb'"), ("/ä", "'/ä'"), ("'", #"''\'''"#), ("a;b", "'a;b'"), ("#x", "'#x'"),
    ])
    func `Quotes any other text`(text: String, word: String) {
        #expect(text.shellWord == word)
    }
}
