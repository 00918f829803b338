import Hummingbird
import HummingbirdTLS
import HummingbirdTesting
import InMemoryLogging
import Logging
import Synchronization

@testable import auth_server

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A server for one test. The server's clock stands still unless the test moves the clock. The server does not wait for
/// delays, and stores its log lines.
struct TestServer: Sendable {
    /// The server's initial time.
    static let date = Date(timeIntervalSince1970: 1_800_000_000)

    let server: AuthorizationServer
    let clock: ServerClock
    let log = InMemoryLogHandler()
    let naps = Naps()
    var tls: TLSConfiguration?

    init(settings: ServerSettings = ServerSettings(), file: StateFile? = nil) throws {
        clock = ServerClock(source: { Self.date })
        server = try AuthorizationServer(settings: settings, clock: clock, file: file)
    }

    /// Calls the router without a network.
    func run(_ test: @Sendable (API) async throws -> Void) async throws {
        try await application().test(.router) { try await test(API(client: $0)) }
    }

    /// Listens on a free port.
    func listen(
        _ scheme: TestHTTPScheme = .http,
        _ test: @Sendable (API, _ port: Int) async throws -> Void
    ) async throws {
        try await application().test(.ahc(scheme)) { client in
            try await test(API(client: client), client.port ?? 0)
        }
    }

    private func application() throws -> some ApplicationProtocol {
        var logger = Logger(label: "test") { _ in log }
        logger.logLevel = .trace
        let naps = naps
        return try AuthServerApplication(
            server: server,
            tls: tls,
            requestLogger: logger,
            logger: logger,
            sleep: { naps.add($0) }
        ).build()
    }

    /// The whole log as text.
    var logText: String {
        log.entries.map { "\($0.message) \($0.metadata) \($0.error.map { "\($0)" } ?? "")" }.joined(separator: "\n")
    }
}

/// The delays that a server has skipped.
final class Naps: Sendable {
    private let durations = Mutex<[Duration]>([])

    var all: [Duration] { durations.withLock { $0 } }

    func add(_ duration: Duration) {
        durations.withLock { $0.append(duration) }
    }
}
