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

    /// The port on 127.0.0.1 and, if available, on ::1.
    let port: Int

    private let servers: [any Channel]
    private let connections: Connections

    /// How many ports are tried if the listener must own both addresses of `localhost`.
    private static let attempts = 20

    /// - Parameters:
    ///   - redirect: The registered redirect URI; `nil` for any free port.
    ///   - host: The host of the redirect URI, for any free port. A browser may resolve `localhost` to either address, so the listener
    ///     then owns the port on both.
    ///   - firstPort: The port to try first; with 0 the system chooses.
    ///   - requestTime: How long a connection may be open without a complete request.
    /// - Throws: `inaccessible` if the port is not available.
    static func open(
        for receiver: RedirectReceiver, at redirect: LoopbackRedirect? = nil, host: String = "127.0.0.1",
        firstPort: Int = 0, requestTime: TimeAmount = .seconds(15)
    ) async throws(AccountError) -> LoopbackListener {
        let connections = Connections()
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 16)
            // Allows a registered port to be used again immediately after the last sign-in.
            .serverChannelOption(.socketOption(.so_reuseaddr), value: redirect == nil ? 0 : 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    // A failure here closes the connection.
                    guard connections.add(channel) else {
                        throw IOError(errnoCode: EMFILE, reason: "too many connections")
                    }
                    try LoopbackHandler.install(in: channel, for: receiver, requestTime: requestTime) {
                        connections.markBusy(channel)
                    }
                }
            }
        let host = redirect?.host ?? host
        // The address of the redirect URI first.
        let addresses = host == "[::1]" ? ["::1", "127.0.0.1"] : ["127.0.0.1", "::1"]
        var wanted = redirect?.port ?? firstPort
        for _ in 0..<attempts {
            let server: any Channel
            do {
                server = try await bootstrap.bind(host: addresses[0], port: wanted).get()
            } catch {
                guard redirect == nil, wanted != 0 else { throw unavailable(addresses[0], redirect, error) }
                wanted = 0
                continue
            }
            let port = server.localAddress?.port ?? 0
            do {
                let other = try await bootstrap.bind(host: addresses[1], port: port).get()
                return LoopbackListener(port: port, servers: [server, other], connections: connections)
            } catch {
                // The other address matters only if the browser may use it, which is impossible without IPv6.
                let code = (error as? IOError)?.errnoCode
                if host != "localhost" || code == EADDRNOTAVAIL || code == EAFNOSUPPORT {
                    return LoopbackListener(port: port, servers: [server], connections: connections)
                }
                // It fails only if the channel is already closed.
                try? await server.close().get()
                if redirect != nil { throw unavailable(addresses[1], redirect, error) }
                wanted = 0
            }
        }
        throw AccountError(
            .inaccessible,
            "other programs use each port that was tried, at 127.0.0.1 or ::1: try again, or use --device")
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
            // It fails only if the channel is already closed.
            try? await future.get()
        }
    }

    func stop() { _ = closing() }

    private func closing() -> [EventLoopFuture<Void>] {
        (servers + connections.takeAll()).map { $0.close() }
    }

    /// The open connections, the oldest first.
    private final class Connections: Sendable {
        private struct Connection {
            let channel: any Channel

            /// Whether its request has not come yet.
            var isIdle = true
        }

        /// `nil` once the listener is closed and accepts no more.
        private let open = Mutex<[Connection]?>([])

        /// Adds a connection, and drops the oldest one without a request if necessary: a browser sends its request at once.
        ///
        /// - Returns: `false` if there is no room.
        func add(_ channel: any Channel) -> Bool {
            let (isAdded, dropped): (Bool, (any Channel)?) = open.withLock { open in
                guard var connections = open else { return (false, nil) }
                var dropped: (any Channel)?
                if connections.count >= LoopbackListener.connectionLimit {
                    guard let index = connections.firstIndex(where: \.isIdle) else { return (false, nil) }
                    dropped = connections.remove(at: index).channel
                }
                connections.append(Connection(channel: channel))
                open = connections
                return (true, dropped)
            }
            dropped?.close(promise: nil)
            if isAdded {
                channel.closeFuture.whenComplete { _ in self.open.withLock { $0?.removeAll { $0.channel === channel } }
                }
            }
            return isAdded
        }

        /// Marks a connection whose request has arrived.
        func markBusy(_ channel: any Channel) {
            open.withLock { open in
                guard let index = open?.firstIndex(where: { $0.channel === channel }) else { return }
                open?[index].isIdle = false
            }
        }

        /// Returns all connections. No connection is accepted afterwards.
        func takeAll() -> [any Channel] {
            open.withLock { open in
                defer { open = nil }
                return (open ?? []).map(\.channel)
            }
        }
    }
}
