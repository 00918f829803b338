import NIOCore
import NIOHTTP1
import AccountCrypto

/// Zeroes what was sent over a connection, since requests hold tokens and the network library frees memory as it is.
///
/// Each buffer must be sent for one write only. That is so for all but chunked bodies, which no request here has.
final class WipingHandler: ChannelOutboundHandler {
    typealias OutboundIn = IOData

    /// Right behind the handler that turns requests into bytes.
    @Sendable static func install(in channel: any Channel) -> EventLoopFuture<Void> {
        channel.eventLoop.submit {
            // A connection that was closed at once has no handlers any more, and whoever waits for it is told why.
            guard channel.isActive else { return }
            let pipeline = channel.pipeline.syncOperations
            let encoder = try pipeline.handler(type: HTTPRequestEncoder.self)
            try pipeline.addHandler(WipingHandler(), position: .before(encoder))
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .byteBuffer(let bytes) = unwrapOutboundIn(data) else { return context.write(data, promise: promise) }
        let promise = promise ?? context.eventLoop.makePromise(of: Void.self)
        // Written, or never to be: nobody reads the bytes any more.
        promise.futureResult.whenComplete { _ in bytes.withUnsafeReadableBytes { Wiping.zero($0) } }
        context.write(data, promise: promise)
    }
}
