import AccountSupport
import CAccountKitShims

/// The user whose program answers a connection on this machine.
///
/// Any user can listen on a port that no program uses, so the program behind `http://127.0.0.1:8080` may be another user's.
enum LoopbackOwner {
    /// One end of a connection. An IPv4 address in an IPv6 address (RFC 4291, section 2.5.5.2) counts as the IPv4 address.
    struct End {
        let address: IPAddress
        let port: UInt16

        init(_ address: IPAddress, _ port: UInt16) {
            self.address = address.embeddedIPv4 ?? address
            self.port = port
        }
    }

    /// Returns the user at the server's end; `nil` if the kernel does not know, for example because it forwards the port to
    /// another network, as container programs do.
    static func user(server: End, client: End) -> UInt32? {
        guard let accepted = socket(server, client) else { return nil }
        if accepted.isAccepted { return accepted.user }
        // A connection that no program has accepted has no owner yet. No client has the port 0, so the kernel finds the socket that listens.
        return socket(server, End(client.address, 0))?.user
    }

    private static func socket(_ server: End, _ client: End) -> (user: UInt32, isAccepted: Bool)? {
        guard server.address.isIPv6 == client.address.isIPv6 else { return nil }
        var user: UInt32 = 0
        var inode: UInt32 = 0
        let status = accountkit_socket_owner(
            server.address.isIPv6 ? 1 : 0, server.address.bytes, server.port, client.address.bytes, client.port, &user,
            &inode)
        return status == 0 ? (user, inode != 0) : nil
    }
}
