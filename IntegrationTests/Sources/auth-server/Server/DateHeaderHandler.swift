import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Sets the `Date` field of every response to the time of the server's clock.
///
/// Hummingbird sets the field from the system's clock after the last middleware. This handler runs later, and replaces
/// the value.
final class DateHeaderHandler: ChannelOutboundHandler, RemovableChannelHandler {
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let clock: ServerClock

    init(clock: ServerClock) {
        self.clock = clock
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        var part = unwrapOutboundIn(data)
        if case .head(var head) = part {
            head.headerFields[.date] = clock.now.httpFormat
            part = .head(head)
        }
        context.write(wrapOutboundOut(part), promise: promise)
    }
}
