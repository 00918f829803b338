import CFloor
import NIOCore
import NIOHTTP1
import NIOPosix

// Does the same as `floor check ROOT PORT` in C, with SwiftNIO alone for its two requests: nio-floor ROOT PORT
//
// There is no HTTP client: no pool, no TLS, no proxy, no timeout, and the responses are not interpreted.

/// Sends the requests in order, and closes the connection after the last response.
final class Requests: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private var rest: [HTTPRequestHead]
    private var isDone = false

    init(_ heads: [HTTPRequestHead]) { rest = heads.reversed() }

    func channelActive(context: ChannelHandlerContext) { send(context) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): if head.status != .ok { fail("response: the status is not 200") }
        case .body: break
        case .end: send(context)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        if !isDone { fail("response: it ends early") }
    }

    private func send(_ context: ChannelHandlerContext) {
        guard let head = rest.popLast() else {
            isDone = true
            return context.close(promise: nil)
        }
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
}

func fail(_ text: String) -> Never { fatalError("nio-floor: \(text)") }

/// Throws the error that a function of the floor describes.
func check(_ error: UnsafePointer<CChar>?) {
    if let error { fail(String(cString: error)) }
}

guard CommandLine.arguments.count == 3, let port = Int(CommandLine.arguments[2]) else {
    fail("usage: nio-floor ROOT PORT")
}
let root = CommandLine.arguments[1]
let archive = root + "/Documents/Account.plist"
var account = floor_account()
check(floor_open(archive, root + "/Library/Keys/Account.key", "account", "default", false, &account))
let token = String(
    decoding: UnsafeBufferPointer(start: account.access_token, count: account.access_token_count), as: UTF8.self)

let heads = [
    HTTPRequestHead(
        version: .http1_1, method: .GET, uri: "/.well-known/openid-configuration", headers: ["Host": "127.0.0.1"]),
    HTTPRequestHead(
        version: .http1_1, method: .GET, uri: "/userinfo",
        headers: ["Host": "127.0.0.1", "Authorization": "Bearer \(token)"]),
]
let channel = try ClientBootstrap(group: MultiThreadedEventLoopGroup(numberOfThreads: 1))
    .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHTTPClientHandlers()
            try channel.pipeline.syncOperations.addHandler(Requests(heads))
        }
    }
    .connect(host: "127.0.0.1", port: port).wait()
try channel.closeFuture.wait()

var bytes: UnsafeMutablePointer<UInt8>?
var count = 0
check(floor_read(archive, 1 << 20, &bytes, &count))
check(floor_save(root + "/Documents", archive, bytes, count))
free(bytes)

var name = [CChar](repeating: 0, count: 256)
check(floor_string(&account, "username", &name, name.count))
print(String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
floor_close(&account)
