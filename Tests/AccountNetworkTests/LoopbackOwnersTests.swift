import AccountSupport
import Testing

@testable import AccountNetwork

/// The promise: AccountKit finds the user whose program answers a connection on this machine.
struct LoopbackOwnersTests {
    private static let title =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode"

    private static func row(_ local: String, _ remote: String, _ state: String, user: Int, inode: Int) -> String {
        "   0: \(local) \(remote) \(state) 00000000:00000000 00:00000000 00000000  \(user)        0 \(inode) 1 0 100 0 0 10 0"
    }

    private static func listening(_ local: String, user: Int) -> String {
        row(
            local, local.count > 20 ? "\(String(repeating: "0", count: 32)):0000" : "00000000:0000", "0A", user: user,
            inode: 7)
    }

    // Port 8080 is 1F90, and the program's own port 40000 is 9C40.
    private static let (server, client) = ("0100007F:1F90", "0100007F:9C40")
    private static let mapped = "0000000000000000FFFF0000"

    static let tables: [(rows: [String], users: Set<UInt32>)] = [
        ([], []),
        ([listening(server, user: 1000)], [1000]),
        // Programs on other ports and addresses.
        ([listening("0100007F:1F91", user: 1001), listening("0200007F:1F90", user: 1002)], []),
        ([listening("00000000:1F90", user: 1000)], [1000]),
        ([listening("00000000000000000000000000000000:1F90", user: 1000)], [1000]),
        // The exact address has priority.
        ([listening("00000000:1F90", user: 1000), listening(server, user: 1001)], [1001]),
        ([listening(mapped + server, user: 1001)], [1001]),
        // The accepted socket decides, even if its program no longer listens or another program listens too.
        ([row(server, client, "01", user: 1001, inode: 9)], [1001]),
        ([listening(server, user: 1000), row(server, client, "01", user: 1001, inode: 9)], [1001]),
        ([row(mapped + server, mapped + client, "01", user: 1001, inode: 9)], [1001]),
        // No program has accepted the connection yet.
        ([listening(server, user: 1001), row(server, client, "01", user: 0, inode: 0)], [1001]),
        // This program's own end, and a connection of another program.
        ([row(client, server, "01", user: 1000, inode: 9)], []),
        ([row(server, "0100007F:9C41", "01", user: 1001, inode: 9)], []),
        (["", "garbage", "1: x y z", row("0100007F", client, "01", user: 1, inode: 1)], []),
    ]

    @Test(arguments: tables)
    func `Finds the user behind a loopback connection`(rows: [String], users: Set<UInt32>) throws {
        let address = try #require(IPAddress("127.0.0.1"))
        let owners = LoopbackOwners(
            in: ["", ([Self.title] + rows).joined(separator: "\n")], server: .init(address, 8080),
            client: .init(address, 40000))
        #expect(owners.users == users)
    }

    @Test func `Finds the user behind an IPv6 connection`() throws {
        let address = try #require(IPAddress("::1"))
        let owners = LoopbackOwners(
            in: [Self.listening("00000000000000000000000001000000:1F90", user: 1001)],
            server: .init(address, 8080), client: .init(address, 40000))
        #expect(owners.users == [1001])
    }
}
