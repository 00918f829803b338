import Hummingbird
import HummingbirdTesting
import Logging

@testable import auth_server

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A server for one test. The server's clock stands still unless the test moves the clock.
struct TestServer: Sendable {
    let server: AuthorizationServer
    let clock = ServerClock(source: { Date(timeIntervalSince1970: 1_800_000_000) })

    init(settings: ServerSettings = ServerSettings()) throws {
        server = try AuthorizationServer(settings: settings, clock: clock)
    }

    /// A server that imitates a service.
    init(_ personality: Personality) throws {
        var settings = ServerSettings()
        settings.personality = personality
        try self.init(settings: settings)
    }

    /// Calls the router without a network.
    func run(_ test: @Sendable (API) async throws -> Void) async throws {
        try await application().test(.router) { try await test(API(client: $0)) }
    }

    /// Listens on a free port.
    func listen(_ test: @Sendable (API, _ port: Int) async throws -> Void) async throws {
        try await application().test(.ahc(.http)) { client in
            try await test(API(client: client), client.port ?? 0)
        }
    }

    private func application() throws -> some ApplicationProtocol {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        return try AuthServerApplication(server: server, requestLogger: logger, logger: logger).build()
    }
}
