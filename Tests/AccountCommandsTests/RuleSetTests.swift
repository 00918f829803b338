import AccountKit
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import AccountCommands

@Suite struct RuleSetTests {
    private func rule(
        _ url: String, _ session: String, username: String? = nil, directory: String? = nil
    ) throws -> Rule {
        Rule(url: try RuleURL(url), session: try SessionName(session), username: username, directory: directory)
    }

    private func session(
        _ rules: RuleSet, _ url: String, username: String? = nil, in directory: String = "/home/a"
    ) throws -> String? {
        rules.rule(for: try RuleURL(url), username: username) { directory }?.session.rawValue
    }

    @Test func `Chooses the rule with the longest matching URL, in any order`() throws {
        let all = [
            try rule("https://a.example", "host"), try rule("https://a.example/team", "team"),
            try rule("https://a.example/team/x", "deep"), try rule("https://a.example:8443", "port"),
        ]
        for rules in [RuleSet(all), RuleSet(all.reversed())] {
            #expect(try session(rules, "https://a.example/other") == "host")
            #expect(try session(rules, "https://a.example/team/y") == "team")
            #expect(try session(rules, "https://a.example/team/x/y") == "deep")
            #expect(try session(rules, "https://a.example/team/xy") == "team")
            #expect(try session(rules, "https://a.example:8443/team") == "port")
        }
    }

    @Test func `Prefers a rule for a directory among rules for the same URL`() throws {
        let rules = RuleSet([
            try rule("https://a.example", "any"), try rule("https://a.example", "work", directory: "/home/a/work"),
            try rule("https://a.example", "deep", directory: "/home/a/work/deep"),
            try rule("https://a.example/team", "team"),
        ])
        #expect(try session(rules, "https://a.example/x", in: "/home/a") == "any")
        #expect(try session(rules, "https://a.example/x", in: "/home/a/work") == "work")
        #expect(try session(rules, "https://a.example/x", in: "/home/a/work/y/z") == "work")
        #expect(try session(rules, "https://a.example/x", in: "/home/a/work/deep/z") == "deep")
        #expect(try session(rules, "https://a.example/x", in: "/home/a/workshop") == "any")
        #expect(try session(rules, "https://a.example/team", in: "/home/a/work") == "team")
        #expect(rules.rule(for: try RuleURL("https://a.example")) { nil }?.session.rawValue == "any")
        let root = RuleSet([try rule("https://a.example", "root", directory: "/")])
        #expect(try session(root, "https://a.example", in: "/srv") == "root")
    }

    @Test func `Looks up the directory only if a rule contains a directory`() throws {
        let rules = RuleSet([
            try rule("https://a.example", "any"), try rule("https://b.example", "work", directory: "/home/a/work"),
        ])
        let found = rules.rule(for: try RuleURL("https://a.example")) {
            Issue.record("asked for the directory")
            return nil
        }
        #expect(found?.session.rawValue == "any")
    }

    @Test func `Matches a rule's user name with the same user name or none`() throws {
        let rules = RuleSet([
            try rule("https://a.example", "alice", username: "alice"),
            try rule("https://a.example", "bob", username: "bob"),
        ])
        #expect(try session(rules, "https://a.example", username: "bob") == "bob")
        #expect(try session(rules, "https://a.example", username: "alice") == "alice")
        #expect(try session(rules, "https://a.example", username: "carol") == nil)
        #expect(try session(rules, "https://a.example") == "alice")
        #expect(try session(rules, "https://a.example", username: "") == "alice")

        var more = rules
        more.add(try rule("https://a.example", "anyone"))
        #expect(try session(more, "https://a.example") == "anyone")
        #expect(try session(more, "https://a.example", username: "bob") == "bob")
        #expect(try session(more, "https://a.example", username: "carol") == "anyone")
    }

    @Test(arguments: ["oauth2", "x-access-token", "x-token-auth"])
    func `Matches all users with a placeholder user name`(name: String) throws {
        let rules = RuleSet([try rule("https://a.example", "any", username: name)])
        #expect(try session(rules, "https://a.example", username: "alice") == "any")
    }

    @Test func `Replaces a rule that has the same URL, user and directory`() throws {
        var rules = RuleSet([try rule("https://a.example", "a")])
        #expect(rules.add(try rule("https://A.example:443/", "b"))?.session.rawValue == "a")
        #expect(rules.add(try rule("https://a.example", "c", directory: "/x")) == nil)
        #expect(rules.add(try rule("https://a.example", "d", username: "d")) == nil)
        #expect(rules.rules.map(\.session.rawValue) == ["b", "c", "d"])
        #expect(rules.remove { $0.directory != nil }.map(\.session.rawValue) == ["c"])
        #expect(rules.rules.map(\.session.rawValue) == ["b", "d"])
    }

    @Test func `Never replaces an existing rule with an automatic rule`() throws {
        var rules = RuleSet([try rule("https://a.example", "a", username: "alice")])
        #expect(rules.add(unlessRuled: try rule("https://a.example", "b"))?.session.rawValue == "a")
        #expect(rules.add(unlessRuled: try rule("https://a.example", "a")) == nil)
        #expect(rules.rules.count == 1)
        #expect(rules.add(unlessRuled: try rule("https://b.example", "b")) == nil)
        #expect(rules.rules.count == 2)
    }

    @Test func `Refuses a stored rule with an invalid URL`() throws {
        let kept = ["rules": [["url": "http://evil.example", "session": "default"]]]
        let bytes = try PropertyListEncoder().encode(kept)
        #expect(throws: (any Error).self) { try PropertyListDecoder().decode(RuleSet.self, from: bytes) }
    }
}
