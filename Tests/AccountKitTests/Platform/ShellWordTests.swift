import AccountKit
import Testing

struct ShellWordTests {
    @Test(arguments: ["/home/alice/.local/share/account", "a", "A_b-c.9", "1000", "x=y@z:1,2%3+4"])
    func `A plain path is a word as it is`(text: String) {
        #expect(text.shellWord == text)
    }

    @Test(arguments: [
        ("", "''"), ("/home/al ice", "'/home/al ice'"), ("$HOME", "'$HOME'"), ("a'b", #"'a'\''b'"#), ("~", "'~'"),
        ("a\nb", "'a\nb'"), ("/ä", "'/ä'"), ("'", #"''\'''"#), ("a;b", "'a;b'"), ("#x", "'#x'"),
    ])
    func `Anything else is quoted`(text: String, word: String) {
        #expect(text.shellWord == word)
    }
}
