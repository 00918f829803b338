import Testing

@testable import AccountCommands

@Suite struct GivenArgumentsTests {
    @Test(arguments: [
        ("unlock --for 8h", "key unlock --for 8h"), ("lock", "key lock"), ("help unlock", "help key unlock"),
        ("login machine https://a.example", "login+machine https://a.example"),
        ("help login machine", "help login+machine"), ("login --web machine", "login --web machine"),
        ("exec login machine", "exec login machine"), ("key add command -- lock", "key add command -- lock"),
        ("whoami", "whoami"), ("", ""),
    ])
    func `Replaces earlier spellings, and joins login machine`(line: String, words: String) {
        expect(line, isAccount: true, words)
        let others = "account " + line
        let embedded = line.hasPrefix("help ") ? line.replacing("help ", with: "help account ") : others
        let result = words.hasPrefix("help ") ? words.replacing("help ", with: "help account ") : "account " + words
        expect(embedded, isAccount: false, result)
    }

    @Test(arguments: ["unlock", "lock now", "login machine", "help lock", "list account lock"])
    func `Keeps the commands of an app`(line: String) { expect(line, isAccount: false, line) }

    @Test func `help --all asks for the complete help`() {
        expect("help --all", isAccount: true, "help", showsAll: true)
        expect("help login --all", isAccount: true, "help login", showsAll: true)
        expect("account help --all", isAccount: false, "help account", showsAll: true)
        expect("help account login --all", isAccount: false, "help account login", showsAll: true)
        expect("--help --all", isAccount: true, "--help", showsAll: true)
        expect("login --help --all", isAccount: true, "login --help --all", showsAll: true)
        expect("logout --all", isAccount: true, "logout --all", showsAll: true)
    }

    /// In the expected words, `+` stands for the space in a name.
    private func expect(
        _ line: String, isAccount: Bool, _ words: String, showsAll: Bool = false,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let given = GivenArguments(line.split(separator: " ").map(String.init), isAccount: isAccount)
        let expected = words.split(separator: " ").map { String($0.replacing("+", with: " ")) }
        #expect(given.words == expected, sourceLocation: sourceLocation)
        #expect(given.showsAllHelp == showsAll, sourceLocation: sourceLocation)
    }
}
