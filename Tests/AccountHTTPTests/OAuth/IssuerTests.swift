import AccountSupport
import AccountKit
import AccountTesting
import FoundationEssentials
import Testing

@testable import AccountHTTP

@Suite("Valid issuer URLs")
struct IssuerTests {
    @Test(
        "Normalizes issuer URLs",
        arguments: [
            ("https://login.example.com", "https://login.example.com"),
            ("https://login.example.com/", "https://login.example.com"),
            ("HTTPS://Login.Example.COM", "https://login.example.com"),
            ("https://login.example.com:443", "https://login.example.com"),
            ("https://login.example.com:", "https://login.example.com"),
            ("https://login.example.com:8443/", "https://login.example.com:8443"),
            ("https://example.com/Realms/A", "https://example.com/Realms/A"),
            ("https://example.com/realms/a/", "https://example.com/realms/a"),
            ("https://example.com//", "https://example.com/"),
            ("https://192.0.2.1", "https://192.0.2.1"), ("https://[2001:DB8::1]:444", "https://[2001:db8::1]:444"),
            ("http://localhost:8080", "http://localhost:8080"), ("http://LOCALHOST", "http://localhost"),
            ("http://127.0.0.1:80", "http://127.0.0.1"), ("http://127.255.0.9", "http://127.255.0.9"),
            ("http://[::1]:9000/x", "http://[::1]:9000/x"),
        ])
    func accepted(_ text: String, _ identifier: String) throws {
        #expect(try OAuthAuthority(issuer: text, clientID: "tool").issuer == identifier)

        // The HTTP client has a separate parser, which must see the same host and port.
        let (checked, used) = (try ServiceURL(text), try #require(URL(string: identifier)))
        #expect(try #require(used.host()) == checked.host.trimmingPrefix("[").replacing("]", with: ""))
        #expect(used.port == checked.port)
    }

    @Test(
        "Refuses an invalid issuer and suggests a correction",
        arguments: [
            ("login.example.com", "did you mean https://login.example.com?"),
            ("login.example.com/realms/a", "did you mean https://login.example.com/realms/a?"),
            ("login.example.com:8443", "did you mean https://login.example.com:8443?"),
            ("localhost:8080", "did you mean http://localhost:8080?"),
            ("127.0.0.1:8080", "did you mean http://127.0.0.1:8080?"),
            ("", "must begin with https://"), ("not an address", "well-formed"),
            ("http://login.example.com", "use https://"), ("HTTP://LOGIN.EXAMPLE.COM", "use https://"),
            ("http://127.0.0.1.example.com", "use https://"), ("http://localhost@example.com", "user name"),
            ("http://localhost.example.com", "use https://"), ("http://128.0.0.1", "use https://"),
            ("http://127.1", "use https://"), ("http://127.0.0.01", "use https://"),
            ("http://127.0.0.256", "use https://"), ("http://0x7f.0.0.1", "use https://"),
            ("http://2130706433", "use https://"), ("http://0.0.0.0", "use https://"), ("http://[::]", "use https://"),
            ("http://[::ffff:127.0.0.1]", "use https://"),
            ("ftp://example.com", "must begin with https://"), ("://example.com", "must begin with https://"),
            ("file:///etc/passwd", "must begin with https://"), ("http+unix://x", "must begin with https://"),
            ("https://example.com?tenant=1", "query"), ("https://example.com/?", "query"),
            ("https://example.com#x", "fragment"), ("https://user@example.com", "user name"),
            ("https://user:hunter2@example.com", "user name"), ("https://127.0.0.1@example.com", "user name"),
            ("https://", "well-formed"), ("https:///path", "well-formed"), ("https://:443", "well-formed"),
            ("https://example.com:0", "well-formed"),
            ("https://example.com:65536", "well-formed"), ("https://example.com:+80", "well-formed"),
            ("https://example.com:80:80", "well-formed"), ("https://[::1", "well-formed"),
            ("https://[localhost]", "well-formed"), ("https://[::1]x", "well-formed"),
            ("https://exam ple.com", "well-formed"), ("https://example.com\r\nX: y", "well-formed"),
            ("https://example.com\\@evil.example", "well-formed"), ("https://exämple.com", "non-ASCII"),
            ("https://example%2ecom", "well-formed"), ("https://a\u{202e}b.com", "non-ASCII"),
            ("https://" + String(repeating: "a", count: 3000), "well-formed"),
        ])
    func refused(_ text: String, _ advice: String) {
        do throws(AccountError) {
            _ = try OAuthAuthority(issuer: text, clientID: "tool")
            Issue.record("\(text) was accepted")
        } catch {
            #expect(error.code == .invalidArgument)
            #expect(error.description.contains(advice), "\(error.message)")
            #expect(!error.description.contains("hunter2"))
            #expect(error.message.count < 400)
        }
    }

    @Test(
        "Compares issuers after normalization of the host, port and empty path",
        arguments: [
            ("https://example.com", true), ("https://example.com/", true), ("https://example.com//", false),
            ("https://Example.com", true), ("HTTPS://EXAMPLE.COM/", true), ("https://example.com:443", true),
            ("https://example.com:443/", true), ("https://example.com:0443", true), ("https://example.com:80", false),
            ("http://example.com", false), ("https://example.com/a", false), ("https://example.com.", false),
            ("https://example.com?", false), ("https://example.com/#", false), ("https://a@example.com", false),
            ("https://example.com/%2f", false), ("https://www.example.com", false), ("example.com", false), ("", false),
            (" https://example.com", false), ("https://example.com:443@evil.example", false),
        ])
    func same(_ other: String, _ expected: Bool) throws {
        #expect(try Issuer("https://example.com").isSame(as: other) == expected)
        #expect(try Issuer("https://example.com/").isSame(as: other) == expected)
        #expect(Issuer.isSame("https://example.com", other) == expected)
        #expect(Issuer.isSame(other, "HTTPS://example.com:443/") == expected)
    }

    /// The last column is the result if the user typed the issuer.
    @Test(arguments: [
        ("https://id.example/a", "https://id.example/a", true, true),
        ("https://id.example/a", "https://ID.example:443/a", true, true),
        ("https://id.example/a", "https://id.example/a/", false, true),
        ("https://id.example/a/", "https://id.example/a", false, true),
        ("https://id.example/a/", "HTTPS://id.example/a/", true, true),
        ("https://id.example/a", "https://id.example/a//", false, false),
        ("https://id.example/a", "https://id.example/A", false, false),
        ("https://id.example/a", "https://id.example/%61", false, false),
        ("https://id.example/a", "https://id.example/b/../a", false, false),
        ("https://id.example/a", "https://id.example/a?x", false, false),
        ("https://id.example/a", "https://id.example", false, false),
    ])
    func `Compares longer paths by their characters`(
        named: String, other: String, isSame: Bool, isSameIfTyped: Bool
    ) throws {
        var issuer = try Issuer(named)
        #expect(issuer.isNamed(by: other) == isSameIfTyped)
        issuer.form = .verbatim(named)
        #expect(issuer.isNamed(by: other) == isSame)
        #expect(Issuer.isSame(named, other) == isSame)
    }

    @Test("Rejects an invalid client ID, scope or timeout of an authority")
    func otherArguments() {
        let issuer = "https://example.com"
        expectAccountError(.invalidArgument) { try OAuthAuthority(issuer: issuer, clientID: "") }
        expectAccountError(.invalidArgument) { try OAuthAuthority(issuer: issuer, clientID: "a\nb") }
        for scope in ["", "a b", "a\"b", "a\\b", "ä"] {
            expectAccountError(.invalidArgument) {
                try OAuthAuthority(issuer: issuer, clientID: "tool", scopes: ["openid", scope])
            }
        }
        for timeout in [Duration.zero, .seconds(-1)] {
            expectAccountError(.invalidArgument) {
                try OAuthAuthority(issuer: issuer, clientID: "tool", timeout: timeout)
            }
        }
    }

    @Test("Checks endpoint URLs like issuer URLs, but allows a query")
    func endpoints() throws {
        let endpoints = try OAuthEndpoints(token: "https://a.example/token?tenant=1", userInfo: "http://127.0.0.1:1/me")
        #expect(endpoints[.token] == "https://a.example/token?tenant=1")
        #expect(endpoints[.userInfo] == "http://127.0.0.1:1/me")
        #expect(endpoints[.revocation] == nil)
        expectAccountError(.invalidArgument) { try OAuthEndpoints(token: "http://a.example/token") }
        expectAccountError(.invalidArgument) {
            try OAuthEndpoints(token: "https://a.example/token", revocation: "https://a.example/#x")
        }
    }
}
