import HTTPTypes
import Hummingbird
import HummingbirdCore
import HummingbirdTLS
import Logging
import NIOCore

/// The web application: its routes and middleware.
struct AuthServerApplication {
    let server: AuthorizationServer
    var address = BindAddress.hostname("127.0.0.1", port: 0)
    var tls: TLSConfiguration?
    /// The logger for one line per request.
    var requestLogger: Logger
    /// The logger for internal errors.
    var logger: Logger
    /// Called with the port once the server accepts connections.
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
        router.add(middleware: FaultMiddleware(server: server))
        if server.settings.proofs != .off { router.add(middleware: NonceMiddleware(server: server)) }
        router.add(middleware: PersonalityMiddleware(personality: server.settings.personality))
        DiscoveryRoutes(server: server).add(to: router)
        TokenRoutes(server: server).add(to: router)
        AuthorizationRoutes(server: server).add(to: router)
        KeyRoutes(server: server).add(to: router)
        DeviceRoutes(server: server).add(to: router)
        UserInfoRoutes(server: server).add(to: router)
        // Auth0 has the same path for its user info.
        if server.settings.personality.name == Personality().name { AppRoutes(server: server).add(to: router) }
        APIRoutes(server: server).add(to: router)
        RegistrationRoutes(server: server).add(to: router)
        GistRoutes(server: server).add(to: router)
        let control = ControlGroup(server: server, router: router)
        ControlRoutes(server: server).add(to: control)
        GistControlRoutes(server: server).add(to: control)
        return router
    }
}
