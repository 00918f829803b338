import AccountKit
import AccountSupport
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

    /// The number of ports to try if the listener needs the same port on both addresses of `localhost`.
    private static let attempts = 20

    /// Opens a listener. For the host `localhost`, the listener uses the port on both addresses, because a browser may
    /// resolve `localhost` to either of them.
    static func open(
        for receiver: RedirectReceiver, at redirect: LoopbackRedirect? = nil, host: String = "127.0.0.1",
        firstPort: Int = 0, requestTime: TimeAmount = .seconds(15)
    ) async throws(AccountError) -> LoopbackListener {
        guard ThreadSupply.isSufficient else {
            throw AccountError(.busy, ThreadSupply.problem, hint: "nothing was changed; try again later")
        }
        let connections = Connections()
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 16)
            // Allow a registered port to be reused immediately after the previous sign-in.
            .serverChannelOption(.socketOption(.so_reuseaddr), value: redirect == nil ? 0 : 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    // An error thrown here closes the connection.
                    guard connections.add(channel) else {
                        throw IOError(errnoCode: EMFILE, reason: "too many connections")
                    }
                    try LoopbackHandler.install(in: channel, for: receiver, requestTime: requestTime) {
                        connections.markBusy(channel)
                    }
                }
            }
        let host = redirect?.host ?? host
        var addresses = host == "[::1]" ? ["::1", "127.0.0.1"] : ["127.0.0.1", "::1"]
        var wanted = redirect?.port ?? firstPort
        for _ in 0..<attempts {
            let server: any Channel
            do {
                server = try await bootstrap.bind(host: addresses[0], port: wanted).get()
            } catch {
                // Without IPv4, only the other address can be reached by the name.
                if host == "localhost", isMissing(error), addresses[0] == "127.0.0.1" {
                    addresses.reverse()
                    continue
                }
                guard redirect == nil, wanted != 0 else { throw unavailable(addresses[0], redirect, error) }
                wanted = 0
                continue
            }
            let port = server.localAddress?.port ?? 0
            do {
                let other = try await bootstrap.bind(host: addresses[1], port: port).get()
                return LoopbackListener(port: port, servers: [server, other], connections: connections)
            } catch {
                // Only `localhost` needs the second address. If this machine does not have that address, the browser
                // can't use it.
                if host != "localhost" || isMissing(error) {
                    return LoopbackListener(port: port, servers: [server], connections: connections)
                }
                // `close` fails only if the channel is already closed.
                try? await server.close().get()
                if redirect != nil { throw unavailable(addresses[1], redirect, error) }
                wanted = 0
            }
        }
        throw AccountError(
            .inaccessible,
            "no port is free on both 127.0.0.1 and ::1", hint: "try again, or use --device")
    }

    /// Whether this machine does not have the address.
    private static func isMissing(_ error: any Error) -> Bool {
        [EADDRNOTAVAIL, EAFNOSUPPORT].contains((error as? IOError)?.errnoCode)
    }

    private static func unavailable(_ host: String, _ redirect: LoopbackRedirect?, _ error: any Error) -> AccountError {
        let start = "cannot receive the response to the sign-in: "
        let code = (error as? IOError)?.errnoCode
        var cause = error
        if let code { cause = SystemCallError("bind", host, errno: code) }
        guard let redirect else {
            return AccountError(.inaccessible, start + "cannot listen on any port of \(host)", cause: cause)
        }
        let advice =
            "register another redirect URI with the service, and use the new URI (on a command line, with --redirect-uri)"
        guard code == EADDRINUSE else {
            return AccountError(
                .inaccessible, "\(start)cannot listen on port \(redirect.port) of \(host)", hint: advice, cause: cause)
        }
        return AccountError(
            .inaccessible, "\(start)another program is using port \(redirect.port) of \(host)",
            hint: "quit that program, or \(advice)")
    }

    func close() async {
        for future in closing() {
            // `close` fails only if the channel is already closed.
            try? await future.get()
        }
    }

    func stop() { _ = closing() }

    private func closing() -> [EventLoopFuture<Void>] {
        (servers + connections.takeAll()).map { $0.close() }
    }

    /// The open connections, oldest first.
    private final class Connections: Sendable {
        private struct Connection {
            let channel: any Channel

            var isIdle = true
        }

        /// The connections, or `nil` after the listener was closed. A closed listener accepts no connections.
        private let open = Mutex<[Connection]?>([])

        /// Adds a connection. At the limit, this method closes the oldest connection that has sent no request, because
        /// a browser sends its request immediately.
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

        func markBusy(_ channel: any Channel) {
            open.withLock { open in
                guard let index = open?.firstIndex(where: { $0.channel === channel }) else { return }
                open?[index].isIdle = false
            }
        }

        func takeAll() -> [any Channel] {
            open.withLock { open in
                defer { open = nil }
                return (open ?? []).map(\.channel)
            }
        }
    }
}
