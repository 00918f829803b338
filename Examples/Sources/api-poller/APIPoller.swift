import AccountHTTP
import AccountKit
import Foundation
import Logging
import ServiceLifecycle
import UnixSignals

/// A long-running service that acts for the user who signed in with `account login`: it calls an API every few seconds.
///
///     api-poller ISSUER CLIENT-ID API-ORIGIN PATH
///
/// The process can be stopped at any time, even during a refresh: `SessionService` completes the refresh.
@main struct APIPoller: Service {
    let client: AuthenticatedClient
    let path: String

    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 5 else { return print("usage: api-poller ISSUER CLIENT-ID API-ORIGIN PATH") }
        let home = ProcessInfo.processInfo.environment["ACCOUNT_HOME"]
        let store = AccountStore(
            container: try home.map { try AppContainer(root: $0, identifier: "account") }
                ?? AppContainer(identifier: "account"))
        let authority = try OAuthAuthority(issuer: arguments[1], clientID: arguments[2])
        let client = try AuthenticatedClient(origin: arguments[3], store: store, authority: authority)
        // Services end in reverse order: first the poller stops requesting tokens, then pending requests are completed.
        try await ServiceGroup(
            services: [SessionService(store: store), APIPoller(client: client, path: arguments[4])],
            gracefulShutdownSignals: [.sigterm, .sigint], logger: Logger(label: "api-poller")
        ).run()
    }

    func run() async throws {
        try await cancelWhenGracefulShutdown {
            while true {
                do {
                    print(String(decoding: try await client.get(path).body, as: UTF8.self))
                } catch let error as AccountError where error.code != .cancelled {
                    print("\(error)")
                }
                try await Task.sleep(for: .seconds(5))
            }
        }
    }
}

/// Keeps the process running until the results of pending token exchanges are stored, since each refresh token can be
/// sent only once.
struct SessionService: Service {
    let store: AccountStore

    func run() async throws {
        try? await gracefulShutdown()
        await store.finishPendingRequests()
    }
}
