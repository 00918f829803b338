import AccountKit
import NIOCore
import NIOPosix
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Listens on a port of the loopback interface and brings requests to a desk (RFC 8252, section 7.3).
///
final class LoopbackListener: Sendable {
    /// How many connections there may be at a time.
    static let connectionLimit = 32

    /// Where it listens, on 127.0.0.1 and, if that could be had, on ::1.
    let port: Int

    private let servers: [any Channel]
    private let connections: Connections

    private init(port: Int, servers: [any Channel], connections: Connections) {
        self.port = port
        self.servers = servers
        self.connections = connections
    }

    /// Opens a free port.
    ///
    /// - Parameter desk: Answers the requests.
    /// - Throws: `inaccessible` if no port can be had.
    static func open(for desk: CallbackDesk) async throws(AccountError) -> LoopbackListener {
        let connections = Connections()
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 16)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    // A failure here closes the connection.
                    guard connections.add(channel) else {
                        throw IOError(errnoCode: EMFILE, reason: "too many connections")
                    }
                    try LoopbackHandler.install(in: channel, for: desk)
                }
            }
        let server: any Channel
        do {
            server = try await bootstrap.bind(host: "127.0.0.1", port: 0).get()
        } catch {
            throw AccountError(
                .inaccessible, "the browser cannot answer: no port of 127.0.0.1 can be listened on", cause: error)
        }
        let port = server.localAddress?.port ?? 0
        var servers = [server]
        do {
            servers.append(try await bootstrap.bind(host: "::1", port: port).get())
        } catch {
            // A machine without IPv6, or another program is there. The browser is sent to 127.0.0.1 anyway.
        }
        return LoopbackListener(port: port, servers: servers, connections: connections)
    }

    /// Closes the port and all connections, and returns when that is done.
    func close() async {
        for future in closing() {
            // It fails only for what is closed already.
            try? await future.get()
        }
    }

    /// Begins to close, without waiting for it.
    func stop() { _ = closing() }

    private func closing() -> [EventLoopFuture<Void>] {
        (servers + connections.takeAll()).map { $0.close() }
    }

    /// The open connections.
    private final class Connections: Sendable {
        private struct State {
            var channels: [ObjectIdentifier: any Channel] = [:]
            var isClosed = false
        }

        private let state = Mutex(State())

        /// Whether there is room for one more.
        func add(_ channel: any Channel) -> Bool {
            let id = ObjectIdentifier(channel)
            let isAdded = state.withLock { state in
                guard !state.isClosed, state.channels.count < LoopbackListener.connectionLimit else { return false }
                state.channels[id] = channel
                return true
            }
            if isAdded { channel.closeFuture.whenComplete { _ in self.remove(id) } }
            return isAdded
        }

        private func remove(_ id: ObjectIdentifier) {
            _ = state.withLock { $0.channels.removeValue(forKey: id) }
        }

        /// All there are. There will be no others.
        func takeAll() -> [any Channel] {
            state.withLock { state in
                state.isClosed = true
                return Array(state.channels.values)
            }
        }
    }
}
