import AccountKit
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

@testable import AccountHTTP

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A server on the loopback interface that answers each request with bytes, or misbehaves.
final class LoopbackServer: Sendable {
    struct Request: Sendable, Hashable {
        var method: String
        var target: String
        var headers: [String: String]
        var body: String

        /// The client's port, which identifies the connection.
        var clientPort: Int
    }

    enum Action: Sendable {
        /// Sends the text unchanged and keeps the connection open.
        case send(String)
        /// Sends the text unchanged and closes the connection.
        case sendAndClose(String)
        /// Closes the connection with a reset.
        case reset
        /// Sends nothing.
        case stall

        /// A complete response.
        static func response(
            _ status: Int, _ headers: KeyValuePairs<String, String> = [:], _ body: String = ""
        ) -> Action {
            let fields = headers.map { "\($0): \($1)\r\n" }.joined()
            return .send("HTTP/1.1 \(status) x\r\nContent-Length: \(body.utf8.count)\r\n\(fields)\r\n\(body)")
        }

        static func json(_ body: String, status: Int = 200) -> Action {
            response(status, ["Content-Type": "application/json"], body)
        }
    }

    private let channel: any Channel
    private let recorded: Recorder

    /// The server's port. No other server uses it, and it is closed after the server has stopped.
    var port: Int { channel.localAddress?.port ?? 0 }

    var address: String { "http://127.0.0.1:\(port)" }

    var requests: [Request] { recorded.requests.withLock { $0 } }

    var targets: [String] { requests.map(\.target) }

    private init(channel: any Channel, recorded: Recorder) {
        self.channel = channel
        self.recorded = recorded
    }

    private final class Recorder: Sendable {
        let requests = Mutex<[Request]>([])
        let connections = Mutex<[any Channel]>([])
    }

    /// Performs the action now on the connections that wait for a response.
    func answer(_ action: Action) {
        for connection in recorded.connections.withLock({ $0 }) where connection.isActive {
            connection.eventLoop.execute { Handler.perform(action, connection) }
        }
    }

    func resetConnections() {
        for connection in recorded.connections.withLock({ $0 }) { Self.reset(connection) }
    }

    /// Closing a connection and discarding its unsent data causes a reset.
    private static func reset(_ channel: any Channel) {
        _ = (channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
        channel.close(promise: nil)
    }

    /// Runs a server during `body`.
    ///
    /// - Parameters:
    ///   - host: The address to listen at.
    ///   - port: The port, or 0 for any free one.
    ///   - tls: The certificate, or `nil` for plain HTTP.
    ///   - connections: Receives an element for each connection.
    ///   - greeting: The action on a new connection, before any byte is read.
    ///   - answer: The action for a request. Its second parameter is the server's address.
    ///   - body: Receives the server.
    static func run<Result>(
        host: String = "127.0.0.1", port: Int = 0, tls: NIOSSLContext? = nil, greeting: Action? = nil,
        connections: AsyncStream<Void>.Continuation? = nil,
        answer: @escaping @Sendable (Request, _ address: String) -> Action = { _, _ in .stall },
        _ body: (LoopbackServer) async throws -> Result
    ) async throws -> Result {
        let recorder = Recorder()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 64)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                recorder.connections.withLock { $0.append(channel) }
                connections?.yield()
                return channel.eventLoop.makeCompletedFuture {
                    if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
                    let address = "http://127.0.0.1:\(channel.localAddress?.port ?? 0)"
                    try channel.pipeline.syncOperations.addHandler(
                        Handler(greeting: greeting) { request in
                            recorder.requests.withLock { $0.append(request) }
                            return answer(request, address)
                        })
                }
            }
            .bind(host: host, port: port).get()
        let server = LoopbackServer(channel: channel, recorded: recorder)
        do {
            let result = try await body(server)
            try await server.stop()
            return result
        } catch {
            try await server.stop()
            throw error
        }
    }

    /// Closes the port and all connections, so that the idle connections of many tests do not use up the descriptors.
    private func stop() async throws {
        try await channel.close()
        for connection in recorded.connections.withLock({ $0 }) { connection.close(promise: nil) }
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let greeting: Action?
        private let answer: (Request) -> Action
        private var received = ""

        init(greeting: Action?, answer: @escaping (Request) -> Action) {
            self.greeting = greeting
            self.answer = answer
        }

        func channelActive(context: ChannelHandlerContext) {
            if let greeting { Self.perform(greeting, context.channel) }
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            received += String(buffer: unwrapInboundIn(data))
            while let request = takeRequest(context.remoteAddress?.port ?? 0) {
                Self.perform(answer(request), context.channel)
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            context.close(promise: nil)
        }

        /// The tests' requests are small, ASCII, and have a Content-Length.
        private func takeRequest(_ clientPort: Int) -> Request? {
            guard let end = received.firstRange(of: "\r\n\r\n") else { return nil }
            let lines = received[..<end.lowerBound].split(separator: "\r\n")
            let start = lines[0].split(separator: " ").map(String.init)
            var headers: [String: String] = [:]
            for line in lines.dropFirst() {
                guard let colon = line.firstIndex(of: ":") else { continue }
                headers[line[..<colon].lowercased()] = String(line[colon...].dropFirst(2))
            }
            let length = headers["content-length"].flatMap { Int($0) } ?? 0
            let rest = received[end.upperBound...]
            guard rest.utf8.count >= length else { return nil }
            received = String(rest.dropFirst(length))
            return Request(
                method: start[0], target: start[1], headers: headers, body: String(rest.prefix(length)),
                clientPort: clientPort)
        }

        static func perform(_ action: Action, _ channel: any Channel) {
            switch action {
            case .send(let text):
                channel.writeAndFlush(ByteBuffer(string: text), promise: nil)
            case .sendAndClose(let text):
                channel.writeAndFlush(ByteBuffer(string: text), promise: nil)
                channel.close(promise: nil)
            case .reset:
                LoopbackServer.reset(channel)
            case .stall: break
            }
        }
    }
}
