import NIOCore
import NIOPosix
import Synchronization

/// A proxy between a storage and a node. It cuts the connection of the next change, or drops the events of watches.
final class CuttingProxy: Sendable {
    enum Fault: Sendable {
        /// Cuts the connection before the node receives the change.
        case request

        /// Cuts the connection after the node has made the change and before the client receives the response.
        case response
    }

    fileprivate struct State {
        var fault: Fault?
        var cutCount = 0
        var dropsEvents = false
        var droppedRemovalCount = 0
    }

    let port: Int
    private let channel: any Channel
    private let state: SharedState

    fileprivate final class SharedState: Sendable {
        let value = Mutex(State())
    }

    /// The number of cut connections.
    var cutCount: Int { state.value.withLock { $0.cutCount } }

    /// The number of removal events that were dropped.
    var droppedRemovalCount: Int { state.value.withLock { $0.droppedRemovalCount } }

    init(to port: Int) async throws {
        let state = SharedState()
        self.state = state
        channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { client in
                // Until this future completes, the proxy has no node and reads nothing from the client.
                ClientBootstrap(group: client.eventLoop)
                    .channelInitializer { node in
                        node.eventLoop.makeCompletedFuture {
                            try node.pipeline.syncOperations.addHandler(Pipe(to: client, state, isRequest: false))
                        }
                    }
                    .connect(host: "127.0.0.1", port: port)
                    .flatMapThrowing { node in
                        try client.pipeline.syncOperations.addHandler(Pipe(to: node, state, isRequest: true))
                    }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        self.port = channel.localAddress?.port ?? 0
    }

    /// Cuts the next call that changes an entry. Calls that concern only locks are not cut.
    func cutNext(_ fault: Fault) {
        state.value.withLock { $0.fault = fault }
    }

    /// Drops all watch events from now on, and keeps the connections.
    func dropEvents() { state.value.withLock { $0.dropsEvents = true } }

    func close() async { try? await channel.close() }

    /// Forwards data to the other end.
    private final class Pipe: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let other: any Channel
        private let state: SharedState
        private let isRequest: Bool
        private var seen: [UInt8] = []

        init(to other: any Channel, _ state: SharedState, isRequest: Bool) {
            self.other = other
            self.state = state
            self.isRequest = isRequest
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let buffer = unwrapInboundIn(data)
            let text = String(buffer: buffer)
            let isCut = state.value.withLock { state in
                // Only a change contains the lock's key.
                switch (state.fault, isRequest) {
                case (.request, true) where text.contains("ignore_lease"),
                    (.response, false) where text.contains("succeeded"):
                    state.fault = nil
                    state.cutCount += 1
                    return true
                default: return false
                }
            }
            let isDropped = state.value.withLock { state in
                guard state.dropsEvents, !isRequest, text.contains(#""events":"#) else { return false }
                if text.contains(#""type":"DELETE""#) { state.droppedRemovalCount += 1 }
                return true
            }
            if isDropped { return }
            guard !isCut else {
                other.close(promise: nil)
                return context.close(promise: nil)
            }
            other.writeAndFlush(buffer, promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) {
            other.close(promise: nil)
            context.fireChannelInactive()
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
