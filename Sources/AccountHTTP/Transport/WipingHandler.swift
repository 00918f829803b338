import NIOCore
import NIOHTTP1
import AccountCrypto

/// Zeroes data after it was sent, because requests contain tokens and the network library frees memory without clearing
/// it. Each buffer must be used for only one write. This is the case for all bodies except chunked bodies, which
/// AccountKit never sends.
final class WipingHandler: ChannelOutboundHandler {
    typealias OutboundIn = IOData

    /// Installs the handler directly behind the handler that encodes requests.
    static func install(in channel: any Channel) throws {
        let pipeline = channel.pipeline.syncOperations
        let encoder = try pipeline.handler(type: HTTPRequestEncoder.self)
        try pipeline.addHandler(WipingHandler(), position: .before(encoder))
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .byteBuffer(let bytes) = unwrapOutboundIn(data) else { return context.write(data, promise: promise) }
        let promise = promise ?? context.eventLoop.makePromise(of: Void.self)
        // After the write has succeeded or failed, no code reads the bytes.
        promise.futureResult.whenComplete { _ in bytes.withUnsafeReadableBytes { Wiping.zero($0) } }
        context.write(data, promise: promise)
    }
}
