@testable import AccountKit
import Testing

struct IPAddressTests {
    @Test(arguments: [
        ("localhost", true), ("127.0.0.1", true), ("127.255.0.7", true), ("[::1]", true), ("[0:0:0:0:0:0:0:1]", true),
        ("127.attacker.example", false), ("127.0.0.1.example", false), ("127.1", false), ("127.0.0.01", false),
        ("localhost.example", false), ("a.localhost", false), ("128.0.0.1", false), ("0.0.0.0", false), ("::1", false),
        ("[::2]", false), ("[::1%lo]", false), ("[127.0.0.1", false), ("[]", false), ("", false),
    ])
    func `A host is on this machine by its name or by its address, and not by its looks`(
        host: String, isLoopback: Bool
    ) {
        #expect(LoopbackHost.contains(host) == isLoopback)
    }

    @Test(arguments: LoopbackHost.addresses)
    func `The addresses of localhost are on this machine`(address: String) {
        #expect(LoopbackHost.contains(address))
    }
}
