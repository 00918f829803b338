import NIOCore
import NIOPosix
import Synchronization

/// Stands between a storage and a node, and cuts the connection of the next change, or drops the events of watches.
final class CuttingProxy: Sendable {
    enum Fault: Sendable {
        /// Before the node hears of the change.
        case request

        /// After the node has made it, and before anybody is told.
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

    /// How many connections were cut.
    var cutCount: Int { state.value.withLock { $0.cutCount } }

    /// How many times the node told of a removal and nothing was passed on.
    var droppedRemovalCount: Int { state.value.withLock { $0.droppedRemovalCount } }

    init(to port: Int) async throws {
        let state = SharedState()
        self.state = state
        channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { client in
                // What the client says is not read before the node is there to hear it: this future ends later.
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

    /// The next call that changes an entry is cut; those about locks alone are not.
    func cutNext(_ fault: Fault) {
        state.value.withLock { $0.fault = fault }
    }

    /// From now on drops what the node says of changes to those who watch, and keeps their connections.
    func dropEvents() { state.value.withLock { $0.dropsEvents = true } }

    func close() async { try? await channel.close() }

    /// Passes on what comes, to the other end.
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
                // Only a change touches the lock's key.
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
