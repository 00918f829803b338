import AccountKit
import ArgumentParser
import Testing

@testable import AccountHelpers

@Suite struct RulePlaceTests {
    @Test func `Suggests the command for a host without a scheme`() throws {
        let error = #expect(throws: (any Error).self) {
            try RulePlace.parse(["github.com"]).ruleURL(for: "rule add")
        }
        #expect((error as? AccountError)?.hint?.hasSuffix(" rule add https://github.com`") == true, "\(error as Any)")
    }

    @Test(arguments: ["not a host", "a@b", "ftp://a.example", ""])
    func `Suggests no command for another text`(text: String) throws {
        let error = #expect(throws: (any Error).self) { try RulePlace.parse([text]).ruleURL(for: "rule add") }
        #expect((error as? AccountError)?.hint?.contains("https://") != true, "\(error as Any)")
    }
}
