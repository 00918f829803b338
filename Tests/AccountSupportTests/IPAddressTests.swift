import AccountSupport
import Testing

struct IPAddressTests {
    @Test(arguments: [
        ("localhost", true), ("127.0.0.1", true), ("127.255.0.7", true), ("[::1]", true), ("[0:0:0:0:0:0:0:1]", true),
        ("127.attacker.example", false), ("127.0.0.1.example", false), ("127.1", false), ("127.0.0.01", false),
        ("localhost.example", false), ("a.localhost", false), ("128.0.0.1", false), ("0.0.0.0", false), ("::1", false),
        ("[::2]", false), ("[::1%lo]", false), ("[127.0.0.1", false), ("[]", false), ("", false),
    ])
    func `Recognizes loopback hosts by exact name or address`(
        host: String, isLoopback: Bool
    ) {
        #expect(LoopbackHost.contains(host) == isLoopback)
    }

    @Test(arguments: [
        ("127.0.0.1", "127.0.0.1"), ("2001:DB8:0:0:0:0:0:1", "2001:db8::1"), ("0::1", "::1"), ("::", "::"),
        ("0:1:0:1:0:1:0:1", "0:1:0:1:0:1:0:1"), ("::ffff:7F00:1", "::ffff:127.0.0.1"),
    ])
    func `Formats an IP address in its canonical form`(text: String, canonical: String) {
        #expect(IPAddress(text)?.text == canonical)
        #expect(IPAddress(canonical) == IPAddress(text))
    }
}
