import AccountHTTP
import AccountKit
import Foundation
import Logging
import ServiceLifecycle
import UnixSignals

/// A service that runs on and on in the name of whoever signed in with `account login`: it asks an API every few seconds.
///
///     api-poller ISSUER CLIENT-ID API-ORIGIN PATH
///
/// It can be stopped at any moment, also in the middle of a refresh: `SessionService` sees to that.
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
        // Services end in the reverse order: first nobody asks for tokens any more, then what was sent is finished.
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

/// Keeps the process until the token exchanges under way are stored: a refresh token that was sent is spent.
struct SessionService: Service {
    let store: AccountStore

    func run() async throws {
        try? await gracefulShutdown()
        await store.finishPendingRequests()
    }
}
