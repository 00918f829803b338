import Foundation
import Synchronization

/// A loopback port at which nothing listens and which no other test uses.
///
/// It is outside of the ephemeral range (ip(7), `ip_local_port_range`), from which the system could assign it to
/// another program at any time.
public enum FreePort {
    private static let given = Mutex<Set<UInt16>>([])

    /// Returns another port with each call.
    public static func find() throws -> Int {
        for _ in 0..<100 {
            let port = UInt16.random(in: 10_000..<32_768)
            // Another test may not listen yet at the port that it received.
            if given.withLock({ $0.insert(port).inserted }), isFree(port) { return Int(port) }
        }
        throw NoFreePort()
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

private struct NoFreePort: Error {}
