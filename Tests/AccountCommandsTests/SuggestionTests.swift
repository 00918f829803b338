import Testing

@testable import AccountCommands

@Suite struct SuggestionTests {
    @Test(arguments: [
        ("", "", 0), ("", "abc", 3), ("abc", "", 3), ("abc", "abc", 0), ("abc", "acb", 1), ("abc", "ab", 1),
        ("abc", "xabc", 1), ("abc", "axc", 1), ("abcd", "badc", 2),
    ])
    func `Counts an inserted, deleted, replaced or swapped letter as one edit`(left: String, right: String, count: Int)
    {
        #expect(Suggestion.distance(left, right) == count)
    }

    @Test(arguments: [
        ("--token", "--store", "--with-token"), ("--servce", "--service", "--service"), ("--frob", "--force", nil),
        ("--scops", "--scope", "--scope"), ("--browser", nil, "--web"), ("--profile", nil, "--session"),
        ("--nothing", nil, nil),
    ])
    func `Suggests the option that the user meant`(option: String, similar: String?, meant: String?) {
        #expect(Suggestion.option(for: option, similar: similar, isLogin: true) == meant)
    }

    @Test func `Suggests the service with a similar name`() {
        let names = ["github", "gitlab", "gitea", "google"]
        #expect(Suggestion.nearest(to: "gihub", among: names) == "github")
        #expect(Suggestion.nearest(to: "GitLab", among: names) == "gitlab")
        #expect(Suggestion.nearest(to: "okta", among: names) == nil)
    }
}
