import AccountKit
import AccountTesting
import Testing

struct SessionNameTests {
    @Test(arguments: [
        "default", "work", "a", "0", "-", "_", "A.b_c-9", "a..b", "-rf", String(repeating: "x", count: 64), "CON", "a.",
    ])
    func `Accepts valid session names`(name: String) throws {
        #expect(try SessionName(name).rawValue == name)
        #expect(try "\(SessionName(name))" == name)
    }

    @Test(arguments: [
        "", ".", "..", ".hidden", "a/b", "../up", "a b", "a\u{0}b", "a\nb", "ä", "a\u{308}", "日本", "🔑", "a:b", "a\\b",
        "a*", "~", "%2e%2e", String(repeating: "x", count: 65),
    ])
    func `Rejects invalid session names and names the allowed length`(name: String) {
        let error = expectAccountError(.invalidArgument) { try SessionName(name) }
        #expect(error?.description.contains("1 to 64") == true)
    }

    @Test func `Uses the name default for the default session`() throws {
        #expect(try SessionName("default") == .default)
        #expect(try SessionName("Default") != .default)
    }
}
