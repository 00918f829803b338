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

/// Listens on a port of the loopback interface and passes requests to a receiver (RFC 8252, section 7.3).
struct LoopbackListener: Sendable {
    private static let connectionLimit = 32

    /// On 127.0.0.1 and, where available, on ::1.
    let port: Int

    private let servers: [any Channel]
    private let connections: Connections

    /// - Parameter redirect: Where the service sends the browser; `nil` takes any free port.
    /// - Throws: `inaccessible` if no port can be had, or not that one.
    static func open(
        for receiver: RedirectReceiver, at redirect: LoopbackRedirect? = nil
    ) async throws(AccountError) -> LoopbackListener {
        let connections = Connections()
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 16)
            // Lets a registered port be used again at once after the last sign-in.
            .serverChannelOption(.socketOption(.so_reuseaddr), value: redirect == nil ? 0 : 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    // A failure here closes the connection.
                    guard connections.add(channel) else {
                        throw IOError(errnoCode: EMFILE, reason: "too many connections")
                    }
                    try LoopbackHandler.install(in: channel, for: receiver)
                }
            }
        // First the address that the browser is sent to, then the other, in case it resolves `localhost` to that.
        let hosts = redirect?.host == "[::1]" ? ["::1", "127.0.0.1"] : ["127.0.0.1", "::1"]
        let server: any Channel
        do {
            server = try await bootstrap.bind(host: hosts[0], port: redirect?.port ?? 0).get()
        } catch {
            throw unavailable(hosts[0], redirect, error)
        }
        let port = server.localAddress?.port ?? 0
        var servers = [server]
        do {
            servers.append(try await bootstrap.bind(host: hosts[1], port: port).get())
        } catch {
            // Either the machine has no IPv6, or another program has this port: a browser that resolves `localhost` to
            // that address would deliver the response there.
            if redirect?.host == "localhost", (error as? IOError)?.errnoCode == EADDRINUSE {
                // It fails only for what is closed already.
                try? await server.close().get()
                throw unavailable(hosts[1], redirect, error)
            }
        }
        return LoopbackListener(port: port, servers: servers, connections: connections)
    }

    private static func unavailable(
        _ host: String, _ redirect: LoopbackRedirect?, _ error: any Error
    ) -> AccountError {
        let start = "the sign-in cannot receive its response: "
        guard let redirect else {
            return AccountError(.inaccessible, start + "no port of \(host) can be listened on", cause: error)
        }
        let reason =
            (error as? IOError)?.errnoCode == EADDRINUSE
            ? "another program uses port \(redirect.port) of \(host); end that one, or"
            : "port \(redirect.port) of \(host) cannot be listened on;"
        return AccountError(
            .inaccessible, "\(start)\(reason) register another redirect URI with the service, and give that",
            cause: error)
    }

    func close() async {
        for future in closing() {
            // It fails only for what is closed already.
            try? await future.get()
        }
    }

    func stop() { _ = closing() }

    private func closing() -> [EventLoopFuture<Void>] {
        (servers + connections.takeAll()).map { $0.close() }
    }

    private final class Connections: Sendable {
        /// `nil` once the listener is closed and accepts no more.
        private let channels = Mutex<[ObjectIdentifier: any Channel]?>([:])

        /// - Returns: `false` if there is no room for one more.
        func add(_ channel: any Channel) -> Bool {
            let id = ObjectIdentifier(channel)
            let isAdded = channels.withLock { channels in
                guard let count = channels?.count, count < LoopbackListener.connectionLimit else { return false }
                channels?[id] = channel
                return true
            }
            if isAdded { channel.closeFuture.whenComplete { _ in self.channels.withLock { $0?[id] = nil } } }
            return isAdded
        }

        /// No connection is accepted after this.
        func takeAll() -> [any Channel] {
            channels.withLock { channels in
                defer { channels = nil }
                return (channels ?? [:]).values.map(\.self)
            }
        }
    }
}
