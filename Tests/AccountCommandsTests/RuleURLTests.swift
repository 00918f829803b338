import AccountSupport
import Foundation
import Testing

@testable import AccountCommands

@Suite struct RuleURLTests {
    @Test(arguments: [
        ("https://git.example.com", "https://git.example.com/"),
        ("https://git.example.com/", "https://git.example.com/"),
        ("HTTPS://Git.Example.COM/Team/", "https://git.example.com/Team"),
        ("https://git.example.com:443/team", "https://git.example.com/team"),
        ("https://git.example.com:8443", "https://git.example.com:8443/"),
        ("https://git.example.com:08443", "https://git.example.com:8443/"),
        ("https://git.example.com:", "https://git.example.com/"),
        ("https://git.example.com/a%20b/%7Ec/%c3%a9", "https://git.example.com/a%20b/~c/%C3%A9"),
        ("https://git.example.com/a//b", "https://git.example.com/a//b"),
        ("https://xn--bcher-kva.example", "https://xn--bcher-kva.example/"),
        ("https://[2001:DB8:0:0:0:0:0:1]:8443/x", "https://[2001:db8::1]:8443/x"),
        ("https://[1::2:0:0:3]", "https://[1::2:0:0:3]/"), ("https://[0:1:0:1:0:1:0:1]", "https://[0:1:0:1:0:1:0:1]/"),
        ("http://[0::1]/", "http://[::1]/"), ("https://[::]", "https://[::]/"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080/"), ("http://localhost", "http://localhost/"),
        ("http://127.1.2.3", "http://127.1.2.3/"), ("https://[::ffff:7f00:1]", "https://[::ffff:127.0.0.1]/"),
    ])
    func `Normalizes the URL of a rule`(text: String, written: String) throws {
        let url = try RuleURL(text)
        #expect(url.description == written)
        #expect(try RuleURL(written) == url)
    }

    @Test(
        arguments: [
            ("", .noScheme), ("git.example.com", .noScheme), ("https:/git.example.com", .noScheme),
            ("ssh://git.example.com", .otherScheme), ("ftp://127.0.0.1", .otherScheme), ("://x", .otherScheme),
            ("http://git.example.com", .notEncrypted), ("http://127.0.0.1.example.com", .notEncrypted),
            ("http://127.1", .notEncrypted), ("http://0.0.0.0", .notEncrypted), ("http://[::2]", .notEncrypted),
            ("https://git.example.com@evil.example", .credentials), ("https://alice:x@git.example.com", .credentials),
            ("https://git.example.com:443@evil.example/", .credentials), ("https://@git.example.com", .credentials),
            ("https://git.example.com?x", .query), ("https://git.example.com/#x", .fragment),
            ("https://evil.example#@git.example.com", .fragment), ("https://bücher.example", .notASCII),
            ("https://git\u{212A}.example", .notASCII), ("https://gіt.example.com", .notASCII),
            ("https://git.example.com\u{FF0F}x", .notASCII),
            ("https://", .malformed), ("https:///team", .malformed), ("https://:443", .malformed),
            ("https://git.example.com.", .malformed), ("https://.example.com", .malformed),
            ("https://git..example.com", .malformed), ("https://git%2eexample.com", .malformed),
            ("https://git.example.com:0", .malformed), ("https://git.example.com\\@evil.example", .malformed),
            ("https://git.example.com\n", .malformed), ("https://git.example.com\0", .malformed),
            ("https://git.example.com/a/../b", .malformed), ("https://git.example.com/a/%2e%2E/b", .malformed),
            ("https://git.example.com/.", .malformed), ("https://git.example.com/a%2Fb", .malformed),
            ("https://git.example.com/a%00", .malformed), ("https://git.example.com/a%0A", .malformed),
            ("https://git.example.com/a%5Cb", .malformed), ("https://git.example.com/%ff", .malformed),
            ("https://git.example.com/%4", .malformed), ("https://git.example.com/%zz", .malformed),
            ("https://[::1]x", .malformed), ("https://[1:2:3:4:5:6:7]", .malformed), ("https://[1::2::3]", .malformed),
            ("https://[fe80::1%25eth0]", .malformed),
        ] as [(String, ServiceURL.Flaw)])
    func `Refuses a URL that cannot have a rule, and states the reason`(text: String, flaw: ServiceURL.Flaw) {
        #expect(throws: flaw) { try RuleURL(text) }
    }

    @Test func `Refuses a rule whose URL is too long`() {
        let label = String(repeating: "a", count: 1 << 20)
        #expect(throws: ServiceURL.Flaw.malformed) { try RuleURL("https://\(label).example") }
        #expect(throws: ServiceURL.Flaw.malformed) { try RuleURL(scheme: "https", authority: label) }
        #expect(throws: ServiceURL.Flaw.malformed) { try RuleURL(scheme: "https", authority: "a.example", path: label) }
    }

    @Test func `Splits a rule's URL into its parts, and decodes the path`() throws {
        let url = try RuleURL(scheme: "https", authority: "Git.Example.com:8443", path: "team/a b/")
        #expect(url == (try RuleURL("https://git.example.com:8443/team/a%20b")))
        #expect(try RuleURL(scheme: "HTTPS", authority: "a.example").path == [])
        #expect(try RuleURL(scheme: "https", authority: "a.example", path: "100%41").path == ["100%41"])
        for authority in [
            "a.example\r\n", "a.example/", "a.example\0", "a.example?", "a@b", "a b", "", "\u{212A}.example",
        ] {
            #expect(throws: ServiceURL.Flaw.self, "\(authority)") { try RuleURL(scheme: "https", authority: authority) }
        }
        #expect(throws: ServiceURL.Flaw.malformed) {
            try RuleURL(scheme: "https", authority: "a.example", path: "a/../b")
        }
    }

    @Test(arguments: [
        ("https://git.example.com", "https://git.example.com/team/x", true),
        ("https://git.example.com/team", "https://git.example.com/team", true),
        ("https://git.example.com/team", "https://git.example.com/team/x.git", true),
        ("https://git.example.com/team", "https://git.example.com/teams", false),
        ("https://git.example.com/team", "https://git.example.com/Team", false),
        ("https://git.example.com/team", "https://git.example.com", false),
        ("https://git.example.com/team", "https://git.example.com//team", false),
        ("https://git.example.com/e%CC%81", "https://git.example.com/%C3%A9", false),
        ("https://git.example.com", "https://git.example.com:8443", false),
        ("https://git.example.com", "https://evilgit.example.com", false),
        ("https://git.example.com", "https://git.example.com.evil.example", false),
        ("https://git.example.com", "https://sub.git.example.com", false),
        ("https://git.example.com", "https://example.com", false),
        ("http://127.0.0.1:80", "http://127.0.0.1", true), ("http://127.0.0.1", "https://127.0.0.1", false),
        ("http://127.0.0.1", "http://localhost", false),
        ("https://[2001:db8::1]", "https://[2001:0db8::0:1]", true),
    ])
    func `Covers only the rule's host, port and paths at or below its path`(rule: String, url: String, covers: Bool)
        throws
    {
        #expect(try RuleURL(rule).covers(RuleURL(url)) == covers)
    }

    @Test(arguments: [
        ("..;", false), ("..;x=1", false), (".;x", false), (";x", false), ("%2e%2e%3b", false), ("..%253b", false),
        ("%252e%252e", false), ("%25252e%25252e", false), ("%252e.", false), (".%252e;x", false), ("a%252fb", false),
        ("a%252Fb", false), ("a%255cb", false), ("a%25252fb", false), ("%25c0%25ae%25c0%25ae", false),
        ("a%2500", false),
        ("", false), ("...", false), ("..%20", false), ("%20", false),
        ("..x", true), (".well-known", true), ("a.b", true), ("a%2eb", true), ("a;v=1", true), ("a;..", true),
        ("100%25", true), ("a%2541", true), ("a%20b", true), ("%C3%A9", true), ("%25zz", true),
    ])
    func `A path that servers may read as another is not below a rule's path`(part: String, covers: Bool) throws {
        // The last part may end with a slash, which is ignored.
        for url in ["https://a.example/mcp/\(part)/x", "https://a.example/mcp/x/\(part)/y"] {
            #expect(try RuleURL("https://a.example/mcp").covers(RuleURL(url)) == covers)
            #expect(try RuleURL("https://a.example").covers(RuleURL(url)), "a rule for the origin covers every path")
            #expect(try RuleURL(url).covers(RuleURL(url)), "a rule covers its own path")
        }
        // git passes a decoded path.
        let decoded = try #require(part.removingPercentEncoding)
        let url = try RuleURL(scheme: "https", authority: "a.example", path: "/mcp/\(decoded)/x")
        #expect(try RuleURL("https://a.example/mcp").covers(url) == covers)
    }
}
