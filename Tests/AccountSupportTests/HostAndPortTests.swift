import AccountSupport
import Testing

struct HostAndPortTests {
    @Test(
        arguments: [
            ("example.com", "example.com", nil), ("Example.COM:8443", "example.com", 8443), ("a_b-c.d:1", "a_b-c.d", 1),
            ("127.0.0.1:65535", "127.0.0.1", 65_535), ("[::1]", "[::1]", nil),
            ("a:", "a", nil), ("[2001:DB8::1]:08080", "[2001:db8::1]", 8080),
        ] as [(String, String, UInt16?)])
    func `Parses a host and a port`(text: String, host: String, port: UInt16?) throws {
        let server = try #require(HostAndPort(text))
        #expect(server.host == host)
        #expect(server.port == port)
    }

    @Test(arguments: [
        "", ":80", "a::", "a:0", "a:65536", "a:+1", "a:-1", "a: 1", "a:1:2", "a b", "a/b", "a@b", "bücher.example",
        "a\u{212A}", "::1",
        "[::1", "[]", "[::1]x", "[::1]:x", "[127.0.0.1]", "[fe80::1%eth0]", "[:::]", "a%2e",
    ])
    func `Rejects a malformed host or port`(text: String) {
        #expect(HostAndPort(text) == nil)
    }
}
