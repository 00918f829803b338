import AccountKit
import AccountSupport
import NIOCore
import NIOPosix
import Synchronization

/// Detects whether a slow request is waiting for a name server, which the HTTP client does not report. After half of
/// the timeout, the transport begins a second lookup. If this lookup has no result when the timeout expires, the name
/// server is not responding.
final class NameLookUp: Sendable {
    private let isPending = Mutex(false)
    private let host: String

    init(of host: String) { self.host = host }

    func begin() {
        // An address and the name of this machine need no name server.
        guard IPAddress(host.filter { $0 != "[" && $0 != "]" }) == nil, host != LoopbackHost.name else { return }
        isPending.withLock { $0 = true }
        let loop = MultiThreadedEventLoopGroup.singleton.any()
        NIOThreadPool.singleton.runIfActive(eventLoop: loop) { [self] in
            // Only the duration matters, not the result.
            _ = SystemCall.addresses(of: host)
            isPending.withLock { $0 = false }
        }.whenFailure { [self] _ in isPending.withLock { $0 = false } }
    }

    var isUnderWay: Bool { isPending.withLock(\.self) }

    /// Returns the addresses of a host, without blocking the caller's thread. Returns an empty list if the name is not known.
    static func addresses(of host: String) async -> [IPAddress] {
        let name = host.filter { !"[]".contains($0) }
        if let address = IPAddress(name) { return [address] }
        let texts = try? await NIOThreadPool.singleton.runIfActive { SystemCall.addresses(of: name) }
        // A link-local address has a zone (RFC 4007, section 11).
        return (texts ?? []).compactMap { text in IPAddress(String(text.prefix { $0 != "%" })) }
    }
}
