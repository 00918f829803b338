import Synchronization

/// A client that registered itself.
///
/// Source: RFC 7591, section 3.2.1; RFC 7592, section 3.
struct RegisteredClient: Equatable, Sendable {
    let id: String
    /// `nil` for a public client.
    var secret: ClientSecret?
    /// Compared exactly.
    var redirectURIs: [String]
    /// The token of the registration's management, or `nil` if there is none.
    var managementToken: String?
}

/// The registered clients. They are not saved, so a restarted server has forgotten them.
final class ClientDirectory: Sendable {
    private let clients = Mutex<[String: RegisteredClient]>([:])

    subscript(id: String) -> RegisteredClient? {
        get { clients.withLock { $0[id] } }
        set { clients.withLock { $0[id] = newValue } }
    }

    var all: [RegisteredClient] { clients.withLock { Array($0.values) } }

    func removeAll() { clients.withLock { $0 = [:] } }
}
