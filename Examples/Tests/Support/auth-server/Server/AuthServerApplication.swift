import HTTPTypes
import Hummingbird
import HummingbirdCore
import HummingbirdTLS
import Logging
import NIOCore
import ServiceLifecycle

/// The web application: which request goes where, and what happens to it on the way.
struct AuthServerApplication {
    let server: AuthorizationServer
    var address = BindAddress.hostname("127.0.0.1", port: 0)
    var tls: TLSConfiguration?
    /// Where the request lines go.
    var requestLogger: Logger
    /// Where the troubles of the machinery go.
    var logger: Logger
    /// Waits; tests have it return at once. A server that shuts down does not wait to the end.
    var sleep: @Sendable (Duration) async throws -> Void = { duration in
        try await cancelWhenGracefulShutdown { try await Task.sleep(for: duration) }
    }
    /// Called with the port once connections are accepted.
    var onRunning: @Sendable (Int) async -> Void = { _ in }

    func build() throws -> Application<RouterResponder<ServerContext>> {
        let clock = server.clock
        let http1 = HTTPServerBuilder.http1(
            configuration: .init(additionalChannelHandlers: [DateHeaderHandler(clock: clock)])
        )
        let onRunning = onRunning
        return Application(
            router: router(),
            server: try tls.map { try .tls(http1, tlsConfiguration: $0) } ?? http1,
            configuration: ApplicationConfiguration(address: address),
            onServerRunning: { await onRunning($0.localAddress?.port ?? 0) },
            logger: logger
        )
    }

    private func router() -> Router<ServerContext> {
        let router = Router(context: ServerContext.self)
        router.add(middleware: RequestLogMiddleware(server: server, logger: requestLogger))
        router.add(middleware: LoopbackMiddleware(settings: server.settings))
        router.add(middleware: FaultMiddleware(server: server, sleep: sleep))
        router.add(middleware: QuirksMiddleware(quirks: server.settings.quirks))
        DiscoveryRoutes(server: server).add(to: router)
        TokenRoutes(server: server).add(to: router)
        AuthorizationRoutes(server: server).add(to: router)
        KeyRoutes(server: server).add(to: router)
        DeviceRoutes(server: server).add(to: router)
        UserInfoRoutes(server: server).add(to: router)
        AppRoutes(server: server).add(to: router)
        GistRoutes(server: server).add(to: router)
        ControlRoutes(server: server).add(to: router)
        GistControlRoutes(server: server).add(to: router)
        return router
    }
}
