import NIOCore
import NIOHTTP1

/// Passes one request of a connection to the receiver, sends the response, and closes the connection.
final class LoopbackHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let receiver: RedirectReceiver
    private let requestTime: TimeAmount
    private let didReceiveRequest: () -> Void
    private var head: HTTPRequestHead?
    private var isTaken = false
    private var deadline: Scheduled<Void>?

    private init(_ receiver: RedirectReceiver, _ requestTime: TimeAmount, _ didReceiveRequest: @escaping () -> Void) {
        self.receiver = receiver
        self.requestTime = requestTime
        self.didReceiveRequest = didReceiveRequest
    }

    /// Adds the handlers to the channel's pipeline. Call this method on the channel's event loop. `requestTime` limits
    /// only the time until the request has arrived.
    static func install(
        in channel: any Channel, for receiver: RedirectReceiver, requestTime: TimeAmount,
        didReceiveRequest: @escaping () -> Void
    ) throws {
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(RequestLimit())
        try pipeline.configureHTTPServerPipeline(withPipeliningAssistance: false, withErrorHandling: true)
        try pipeline.addHandler(LoopbackHandler(receiver, requestTime, didReceiveRequest))
    }

    func channelActive(context: ChannelHandlerContext) {
        deadline = context.eventLoop.scheduleTask(in: requestTime) { [channel = context.channel] in
            channel.close(promise: nil)
        }
    }

    func channelInactive(context: ChannelHandlerContext) { deadline?.cancel() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head) where !isTaken: self.head = head
        case .end where !isTaken:
            guard let head else { return }
            isTaken = true
            deadline?.cancel()
            didReceiveRequest()
            take(head, from: context.channel)
        default: break
        }
    }

    private func take(_ head: HTTPRequestHead, from channel: any Channel) {
        let request = LoopbackRequest(
            method: head.method.rawValue, target: head.uri, hosts: head.headers["host"],
            port: channel.localAddress?.port ?? 0)
        receiver.receive(request) { [receiver] response in
            channel.eventLoop.execute { Self.send(response, to: channel, receiver) }
        }
    }

    private static func send(
        _ response: RedirectReceiver.Response, to channel: any Channel, _ receiver: RedirectReceiver
    ) {
        var head = HTTPResponseHead(version: .http1_1, status: .seeOther, headers: HTTPHeaders(ResultPage.headers))
        var body = ""
        switch response {
        case .page(let page):
            head.status = .init(statusCode: page.status)
            body = page.html
        case .redirect(let path): head.headers.add(name: "Location", value: path)
        }
        head.headers.add(name: "Content-Length", value: "\(body.utf8.count)")
        head.headers.add(name: "Connection", value: "close")
        channel.write(HTTPServerResponsePart.head(head), promise: nil)
        channel.write(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: body))), promise: nil)
        channel.writeAndFlush(HTTPServerResponsePart.end(nil)).whenComplete { result in
            if case .success = result { receiver.didDeliver(response) }
            channel.close(promise: nil)
        }
    }
}

final class RequestLimit: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The maximum length of a request, in bytes. A legitimate request contains the cookies of all other programs on
    /// `localhost`, often in one line of many kilobytes. The limit is that of the parser for one line, so that this handler
    /// responds to every longer request.
    static let bytes = 80 << 10

    private var received = 0

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let isWithin = received <= Self.bytes
        received += unwrapInboundIn(data).readableBytes
        if received <= Self.bytes {
            context.fireChannelRead(data)
        } else if isWithin {
            let response = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: response)), promise: nil)
            // Discard the rest: closing with unread bytes would reset the connection and drop the response.
            context.close(mode: .output, promise: nil)
        }
    }
}
