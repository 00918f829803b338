import AccountSupport
import Synchronization

/// The networks of the hosts that this process has reached or looked up.
final class HostPlaces: Sendable {
    private let places = Mutex<[String: HostPlace]>([:])

    func note(_ addresses: [IPAddress], of host: String) {
        guard let first = addresses.first.map(HostPlace.init(of:)) else { return }
        let place = addresses.allSatisfy { HostPlace(of: $0) == first } ? first : .everywhere
        places.withLock { $0[host] = place }
    }

    func isKnown(_ host: String) -> Bool { places.withLock { $0[host] != nil } }

    /// Returns the reason why a server must not name a host with this address; `nil` if it may.
    func flaw(of address: IPAddress, at host: String, namedBy namer: String) -> String? {
        guard host != namer else { return nil }
        let other = HostPlace(of: address)
        let place = places.withLock { $0[namer] } ?? HostPlace(of: namer)
        guard !place.mayName(other) else { return nil }
        let network = other == .thisMachine ? "on this machine" : "in a private network"
        return "\(namer) names \(host), which is \(network) (\(address.text)), where \(namer) is not"
    }
}
