import Testing

@testable import AccountSupport

struct HostPlaceTests {
    @Test(arguments: [
        ("127.0.0.1", HostPlace.thisMachine), ("127.255.1.2", .thisMachine), ("[::1]", .thisMachine),
        ("localhost", .thisMachine), ("a.localhost", .thisMachine), ("localhost.", .thisMachine),
        ("0.0.0.0", .thisMachine), ("[::]", .thisMachine), ("[::ffff:127.0.0.1]", .thisMachine),
        ("10.1.2.3", .privateNetwork), ("172.16.0.1", .privateNetwork), ("172.31.255.255", .privateNetwork),
        ("192.168.0.1", .privateNetwork), ("100.64.0.1", .privateNetwork), ("[fd12::1]", .privateNetwork),
        ("[::ffff:10.0.0.1]", .privateNetwork), ("224.0.0.1", .privateNetwork), ("255.255.255.255", .privateNetwork),
        ("169.254.169.254", .link), ("[fe80::1]", .link), ("[::ffff:169.254.169.254]", .link),
        ("2130706433", .ambiguous), ("127.1", .ambiguous), ("0x7f000001", .ambiguous), ("a.0x7f", .ambiguous),
        ("256.256.256.256", .ambiguous),
        ("example.com", .everywhere), ("172.32.0.1", .everywhere), ("8.8.8.8", .everywhere),
        ("[2606:4700::1]", .everywhere), ("a1.example", .everywhere), ("notlocalhost", .everywhere),
    ])
    func `Recognizes the network of a host`(host: String, place: HostPlace) {
        #expect(HostPlace(of: host) == place)
    }

    @Test func `A server names only public servers and those in its own network`() {
        let places = [HostPlace.thisMachine, .privateNetwork, .link, .everywhere]
        for place in places {
            #expect(place.mayName(.everywhere))
            #expect(!place.mayName(.ambiguous))
            for other in places where other != .everywhere { #expect(place.mayName(other) == (place == other)) }
        }
    }
}
