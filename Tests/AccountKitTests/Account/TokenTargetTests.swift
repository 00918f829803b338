import AccountKit
import AccountTesting
import Testing

struct TokenTargetTests {
    @Test func `Ignores order and duplicates in the resources and scopes of a target`() throws {
        let target = try TokenTarget(resources: ["urn:b", "urn:a", "urn:b"], scopes: ["write", "read"])
        let same = try TokenTarget(resources: ["urn:a", "urn:b"], scopes: ["read", "write", "read"])
        #expect(target == same)
        #expect(target.resources == ["urn:a", "urn:b"])
        #expect(target.scopes == ["read", "write"])
        let other = try TokenTarget(audience: "urn:a", resources: ["urn:a", "urn:b"], scopes: ["read", "write"])
        #expect(target != other)
    }

    @Test(
        arguments: [
            (nil, [], []), ("", [], []), ("a\u{0}", [], []), (nil, ["api"], []), (nil, ["https://api/#part"], []),
            (nil, [], [""]), (nil, [], ["two words"]), (nil, [], ["\"quoted\""]), (nil, ["urn:a"], ["ä"]),
            (String(repeating: "a", count: 8193), [], []),
        ] as [(String?, [String], [String])])
    func `Rejects an invalid audience, resource or scope`(audience: String?, resources: [String], scopes: [String]) {
        expectAccountError(.invalidArgument) {
            try TokenTarget(audience: audience, resources: resources, scopes: scopes)
        }
    }
}
