import AccountSupport

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The users whose programs answer a connection on this machine, according to Linux's tables of TCP sockets (proc_net(5)).
///
/// Any user can listen on a port that no program uses, so the program behind `http://127.0.0.1:8080` may be another user's.
struct LoopbackOwners: Equatable {
    /// The owner of the socket that a program accepted; or else the owners of the sockets that listen on exactly this address; or else
    /// of those that listen on all addresses. Empty if the tables do not contain the connection.
    let users: Set<UInt32>

    /// Finds the owners of the server's end of a connection.
    ///
    /// - Parameters:
    ///   - tables: The content of `/proc/net/tcp` and `/proc/net/tcp6`.
    ///   - server: The server's end of the connection.
    ///   - client: This program's end of the connection.
    init(in tables: [String], server: End, client: End) {
        var accepted: Set<UInt32> = []
        var exact: Set<UInt32> = []
        var general: Set<UInt32> = []
        for line in tables.joined(separator: "\n").split(separator: "\n") {
            let fields = line.split(separator: " ")
            guard fields.count > 9, let local = End(fields[1]), let remote = End(fields[2]), local.port == server.port,
                let user = UInt32(fields[7])
            else { continue }
            if fields[3] == "0A" {
                // A socket in the state LISTEN.
                if local.address == server.address { exact.insert(user) }
                if local.address.isUnspecified { general.insert(user) }
            } else if local == server, remote == client, fields[9] != "0" {
                // Before a program accepts a connection, its socket has no inode and counts as root's.
                accepted.insert(user)
            }
        }
        users = [accepted, exact, general].first { !$0.isEmpty } ?? []
    }

    /// An address and a port. An IPv4 address in an IPv6 address (RFC 4291, section 2.5.5.2) is the same as the IPv4 address.
    struct End: Hashable {
        var address: IPAddress
        var port: UInt16

        init(_ address: IPAddress, _ port: UInt16) {
            self.address = address.embeddedIPv4 ?? address
            self.port = port
        }

        /// Parses the hexadecimal form of the tables: each group of four bytes is a number in the byte order of the machine.
        init?(_ text: Substring) {
            let parts = text.split(separator: ":")
            guard parts.count == 2, let port = UInt16(parts[1], radix: 16), [8, 32].contains(parts[0].utf8.count) else {
                return nil
            }
            var bytes: [UInt8] = []
            var rest = parts[0]
            while !rest.isEmpty {
                guard let word = UInt32(rest.prefix(8), radix: 16) else { return nil }
                let value = UInt32(bigEndian: word)
                bytes += [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
                rest = rest.dropFirst(8)
            }
            guard let address = IPAddress(bytes: bytes) else { return nil }
            self.init(address, port)
        }
    }

    /// Reads the tables of the network that this process is in. A missing table is empty.
    static func tables() -> [String] {
        ["/proc/net/tcp", "/proc/net/tcp6"].map { path in
            (try? Data(contentsOf: URL(filePath: path))).map { String(decoding: $0, as: UTF8.self) } ?? ""
        }
    }
}
