import NIOCore
import NIOPosix
import Synchronization

/// Finds out whether it is the look-up of a name that takes so long.
///
/// The HTTP client does not say what it waits for. So after a while the name is looked up once more: if that has no result
/// either when time is up, no name server responds.
final class NameLookUp: Sendable {
    private let isPending = Mutex(false)
    private let host: String

    init(of host: String) { self.host = host }

    func begin() {
        // An address is its own name, and comes back at once.
        guard IPAddress(host.filter { $0 != "[" && $0 != "]" }) == nil else { return }
        isPending.withLock { $0 = true }
        let loop = MultiThreadedEventLoopGroup.singleton.any()
        NIOThreadPool.singleton.runIfActive(eventLoop: loop) { [self] in
            // Which addresses there are, if any, is for the client to find out.
            _ = try? SocketAddress.makeAddressResolvingHost(host, port: 0)
            isPending.withLock { $0 = false }
        }.whenFailure { [self] _ in isPending.withLock { $0 = false } }
    }

    /// Whether it was begun and has no result yet.
    var isUnderWay: Bool { isPending.withLock(\.self) }
}
