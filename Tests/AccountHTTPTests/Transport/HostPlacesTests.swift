import AccountSupport
import Testing

@testable import AccountHTTP

/// The promise: a server names only public servers and those in its own network, according to their addresses.
struct HostPlacesTests {
    static let cases: [(namer: [String], address: String, isAllowed: Bool)] = [
        (["203.0.113.1"], "198.51.100.1", true),
        (["203.0.113.1"], "10.0.0.1", false),
        (["203.0.113.1"], "127.0.0.1", false),
        (["203.0.113.1"], "::1", false),
        (["203.0.113.1"], "::ffff:127.0.0.1", false),
        (["203.0.113.1"], "169.254.169.254", false),
        (["203.0.113.1"], "fd00::1", false),
        (["203.0.113.1"], "100.64.0.1", false),
        (["10.0.0.1"], "10.0.0.2", true),
        (["10.0.0.1", "192.168.1.1"], "10.0.0.2", true),
        (["10.0.0.1"], "203.0.113.1", true),
        (["10.0.0.1"], "127.0.0.1", false),
        (["127.0.0.1", "::1"], "127.0.0.1", true),
        // A name with a public and a private address is not in the private network.
        (["203.0.113.1", "10.0.0.1"], "10.0.0.2", false),
        ([], "203.0.113.1", true),
        ([], "10.0.0.1", false),
    ]

    @Test(arguments: cases)
    func `Decides by the addresses of both servers`(namer: [String], address: String, isAllowed: Bool) throws {
        let places = HostPlaces()
        places.note(namer.compactMap { IPAddress($0) }, of: "api.example")
        let flaw = places.flaw(of: try #require(IPAddress(address)), at: "login.example", namedBy: "api.example")
        #expect((flaw == nil) == isAllowed)
    }

    @Test func `Does not restrict the addresses of the server itself`() throws {
        let address = try #require(IPAddress("10.0.0.1"))
        #expect(HostPlaces().flaw(of: address, at: "api.example", namedBy: "api.example") == nil)
    }
}
