import AccountSupport
import Testing

struct ShellWordTests {
    @Test(arguments: ["/home/alice/.local/share/account", "a", "A_b-c.9", "1000", "x=y@z:1,2%3+4"])
    func `Does not quote a plain path for the shell`(text: String) {
        #expect(text.shellWord == text)
    }

    @Test(arguments: [
        ("", "''"), ("/home/al ice", "'/home/al ice'"), ("$HOME", "'$HOME'"), ("a'b", #"'a'\''b'"#), ("~", "'~'"),
        ("a\nb", "'a\nb'"), ("/ä", "'/ä'"), ("'", #"''\'''"#), ("a;b", "'a;b'"), ("#x", "'#x'"),
    ])
    func `Quotes text that the shell would interpret`(text: String, word: String) {
        #expect(text.shellWord == word)
    }
}
