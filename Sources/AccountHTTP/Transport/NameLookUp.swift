import AccountKit
import AccountSupport
import NIOCore
import NIOPosix
import Synchronization

/// Finds out whether a slow request is waiting for a name server, which the HTTP client does not report. If a second
/// lookup, after half of the timeout, has no result in time, the name server is not responding.
final class NameLookUp: Sendable {
    private let isPending = Mutex(false)
    private let host: String

    init(of host: String) { self.host = host }

    func begin() {
        // An address needs no name server, nor does the name of this machine.
        guard IPAddress(host.filter { $0 != "[" && $0 != "]" }) == nil, host != LoopbackHost.name else { return }
        isPending.withLock { $0 = true }
        let loop = MultiThreadedEventLoopGroup.singleton.any()
        NIOThreadPool.singleton.runIfActive(eventLoop: loop) { [self] in
            // Only the duration matters, not the result.
            _ = try? SocketAddress.makeAddressResolvingHost(host, port: 0)
            isPending.withLock { $0 = false }
        }.whenFailure { [self] _ in isPending.withLock { $0 = false } }
    }

    var isUnderWay: Bool { isPending.withLock(\.self) }
}
