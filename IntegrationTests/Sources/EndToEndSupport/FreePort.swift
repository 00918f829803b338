import Foundation
import Synchronization

/// A free port of the loopback interface that no other test receives.
///
/// The port is outside the range of ephemeral ports (ip(7), `ip_local_port_range`), since the system could assign such
/// a port to another program a moment later.
enum FreePort {
    private static let given = Mutex<Set<UInt16>>([])

    static func find() throws -> Int {
        for _ in 0..<100 {
            let port = UInt16.random(in: 10_000..<32_768)
            // Another test may not listen yet at the port that it received.
            if take(port) { return Int(port) }
        }
        throw Unexpected("no port is free")
    }

    /// Returns the first of two consecutive free ports.
    static func findPair() throws -> Int {
        for _ in 0..<100 {
            let port = try find()
            if take(UInt16(port + 1)) { return port }
        }
        throw Unexpected("no two successive ports are free")
    }

    private static func take(_ port: UInt16) -> Bool {
        given.withLock { $0.insert(port).inserted } && isFree(port)
    }

    private static func isFree(_ port: UInt16) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        address.sin_port = port.bigEndian
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
