import AccountSupport
import Testing

@testable import AccountNetwork

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

#if os(Linux)
/// The promise: AccountKit finds the user whose program answers a connection on this machine.
struct LoopbackOwnerTests {
    /// A descriptor of a socket with an address on this machine.
    private struct Socket: ~Copyable {
        let number: Int32

        init(_ number: Int32) throws { self.number = try #require(number >= 0 ? number : nil) }

        init(listeningAt address: String) throws {
            try self.init(socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
            var name = sockaddr_in()
            name.sin_family = sa_family_t(AF_INET)
            #expect(inet_pton(AF_INET, address, &name.sin_addr) == 1)
            let status = withUnsafePointer(to: &name) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(number, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            #expect(status == 0)
            #expect(listen(number, 4) == 0)
        }

        deinit { close(number) }

        var port: UInt16 {
            var name = sockaddr_in()
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            _ = withUnsafeMutablePointer(to: &name) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(number, $0, &size) }
            }
            return UInt16(bigEndian: name.sin_port)
        }

        func connected() throws -> Socket {
            let client = try Socket(socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
            var name = sockaddr_in()
            name.sin_family = sa_family_t(AF_INET)
            name.sin_port = port.bigEndian
            #expect(inet_pton(AF_INET, "127.0.0.1", &name.sin_addr) == 1)
            let status = withUnsafePointer(to: &name) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(client.number, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            #expect(status == 0)
            return client
        }
    }

    private func end(_ port: UInt16, at address: String = "127.0.0.1") throws -> LoopbackOwner.End {
        LoopbackOwner.End(try #require(IPAddress(address)), port)
    }

    @Test(arguments: ["127.0.0.1", "0.0.0.0"])
    func `Finds the user behind a loopback connection`(address: String) throws {
        let server = try Socket(listeningAt: address)
        let client = try server.connected()
        // No program has accepted the connection yet.
        #expect(LoopbackOwner.user(server: try end(server.port), client: try end(client.port)) == getuid())
        let accepted = try Socket(accept(server.number, nil, nil))
        #expect(LoopbackOwner.user(server: try end(server.port), client: try end(client.port)) == getuid())
        let mapped = try end(server.port, at: "::ffff:127.0.0.1")
        #expect(LoopbackOwner.user(server: mapped, client: try end(client.port)) == getuid())
        withExtendedLifetime(accepted.number) {}
    }

    /// Another program could accept the connection, and then stop listening.
    @Test func `Finds the user of a connection whose server stopped listening`() throws {
        let port: UInt16
        let client: Socket
        let accepted: Socket
        do {
            let server = try Socket(listeningAt: "127.0.0.1")
            port = server.port
            client = try server.connected()
            accepted = try Socket(accept(server.number, nil, nil))
        }
        #expect(LoopbackOwner.user(server: try end(port), client: try end(client.port)) == getuid())
        withExtendedLifetime(accepted.number) {}
    }

    @Test func `Knows no user of a port without a server`() throws {
        let port: UInt16
        do { port = try Socket(listeningAt: "127.0.0.1").port }
        #expect(LoopbackOwner.user(server: try end(port), client: try end(1)) == nil)
        #expect(LoopbackOwner.user(server: try end(port, at: "::1"), client: try end(1, at: "::1")) == nil)
    }
}
#endif
