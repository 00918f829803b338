import AccountKit
import NIOCore
import NIOPosix
import Synchronization

/// Finds out whether a name server is what a slow request waits for, which the HTTP client does not say.
///
/// After a while the name is looked up again: if that has no result either when time is up, no name server responds.
final class NameLookUp: Sendable {
    private let isPending = Mutex(false)
    private let host: String

    init(of host: String) { self.host = host }

    func begin() {
        // An address has no name server to wait for, nor does this machine's own name.
        guard IPAddress(host.filter { $0 != "[" && $0 != "]" }) == nil, host != LoopbackHost.name else { return }
        isPending.withLock { $0 = true }
        let loop = MultiThreadedEventLoopGroup.singleton.any()
        NIOThreadPool.singleton.runIfActive(eventLoop: loop) { [self] in
            // The result does not matter, only how long it takes.
            _ = try? SocketAddress.makeAddressResolvingHost(host, port: 0)
            isPending.withLock { $0 = false }
        }.whenFailure { [self] _ in isPending.withLock { $0 = false } }
    }

    var isUnderWay: Bool { isPending.withLock(\.self) }
}
