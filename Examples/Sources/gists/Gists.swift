import AccountCommands
import AccountHTTP
import AccountHelpers
import AccountKit
import AccountOffline
import ArgumentParser
import Foundation
import HTTPTypes
import Terminal

/// Gists that can be read and changed without the network: `gists account login`, `gists list`, `gists create
/// notes.txt` …
@main struct Gists: AsyncParsableCommand, AccountApplication {
    static let identifier = "com.example.gists"
    static var commandGroups: [AccountCommandGroup<Self>] { [.helpers] }
    static let acceptsIssuer = true
    static let configuration = CommandConfiguration(
        commandName: "gists", abstract: "Read and change your gists, online or offline.",
        discussion: """
            Gists that were shown once can be shown again offline. A change is first stored, and then sent when the \
            service can be reached: by the same command, or by `gists sync`.

            The service is GitHub, unless another one was given to `gists account login`. In that case, set GISTS_API \
            to the address of its API, such as https://HOST/api/v3 for GitHub Enterprise Server.

            Exit codes: 0 done, or stored to be sent; 64 usage; 65 you must resolve a change; 69 the network was \
            needed, or the output is incomplete; 74 input or output error; 75 busy; 77 sign in first.
            """,
        // Each command has its name in its configuration, since deriving the name from the type takes longer than
        // showing a list.
        subcommands: [
            List.self, Show.self, Create.self, Edit.self, Delete.self, Star.self, Unstar.self, Sync.self, Status.self,
            Resolve.self, AccountCommand<Gists>.self,
        ])

    static func authority(with options: AuthorityOptions) throws(AccountError) -> any AccountAuthority {
        let known = options.service.issuer == nil ? KnownService.github : nil
        return try OAuthAuthority(
            issuer: options.service.issuer ?? KnownService.github.issuer,
            clientID: options.service.clientID ?? (known == nil ? "account-cli" : nil),
            scopes: options.service.exactScopes ?? (known == nil ? nil : ["gist", "read:user"]),
            additionalScopes: options.service.additionalScopes,
            service: known, timeout: options.timeout, logger: options.logger)
    }

    static func linkedStorage(of store: AccountStore) async throws -> (any AccountLinkedStorage)? {
        // Signing out sends no requests for gists, so it does not need the address of the API.
        try await OfflineCollection("gists", GistsAPI(pause: .zero), of: store, in: try container()) { _, _ in
            throw AccountError(.misconfigured, "the service is not asked while signing out")
        }
    }

    /// Sends requests for the signed-in user.
    private static func transport(of store: AccountStore) async throws -> (api: GistsAPI, send: RemoteTransport) {
        guard let account = await store.load().account else {
            throw AccountError(.notSignedIn, "you are not signed in: run `gists account login`")
        }
        let isGitHub = account.issuer == KnownService.github.issuer
        let variable = ProcessInfo.processInfo.environment["GISTS_API"]
        guard let text = variable.flatMap({ $0.isEmpty ? nil : $0 }) ?? (isGitHub ? "https://api.github.com" : nil)
        else {
            throw AccountError(
                .misconfigured,
                "the address of the API of \(account.issuer ?? "this service") is unknown: set GISTS_API to it, such as "
                    + "https://HOST/api/v3 for GitHub Enterprise Server")
        }
        let address = try APIAddress(text)
        let service = AccountService(issuer: account.issuer, clientID: account.credentials.clientID)
        let authority = try authority(with: AuthorityOptions(service: service))
        let client: AuthenticatedClient
        do {
            client = try AuthenticatedClient(origin: address.origin, store: store, authority: authority)
        } catch {
            throw AccountError(error.code, "GISTS_API: \(error.message)", hint: error.hint ?? APIAddress.advice)
        }
        return (
            GistsAPI(pause: isGitHub ? .seconds(1) : .zero, address: address),
            { request, body in
                // Only links in responses name a host. The client sends the token only to the host of the API.
                if let host = request.authority, request.method == .get {
                    let link = "\(request.scheme ?? "https")://\(host)\(request.path ?? "/")"
                    let response = try await client.get(link: link, headerFields: request.headerFields)
                    return (response.head, response.body)
                }
                var request = request
                request.path = address.path + (request.path ?? "")
                let response = try await client.send(request, body: body)
                return (response.head, response.body)
            }
        )
    }

    /// The gists of the signed-in user.
    static func collection(of store: AccountStore) async throws -> OfflineCollection<GistsAPI> {
        let (api, transport) = try await transport(of: store)
        return try await OfflineCollection("gists", api, of: store, in: try container(), sending: transport)
    }

    /// Whether the service is reachable now.
    static func connectivity() async throws -> Connectivity {
        let (api, transport) = try await transport(of: try store())
        let monitor = ConnectivityMonitor(transport, probe: api.request(for: "mine", at: nil)) { head, body in
            api.answer(head, body, to: nil) != .foreign
        }
        return await monitor.check()
    }

    /// Runs a closure with the gists of the signed-in user.
    ///
    /// - Parameter whenInterrupted: Tells the user that Ctrl-C was received. Without this function, Ctrl-C just ends
    ///   the process.
    static func run(
        whenInterrupted: (@Sendable () -> Void)? = nil, _ body: (OfflineCollection<GistsAPI>) async throws -> Void
    ) async throws {
        let store = try store()
        let gists = try await collection(of: store)
        let interruption = whenInterrupted.map { Interruption(finishing: store, $0) }
        defer { interruption?.end() }
        if let dropped = gists.droppedLists {
            Output.say("note: the stored lists were dropped, and are fetched again (\(dropped))")
        }
        do {
            try await body(gists)
        } catch {
            await gists.close()
            throw error
        }
        await gists.close()
    }

    /// Parses a read-only command without building the tree of all commands, since building the tree takes longer than
    /// showing a list.
    ///
    /// - Returns: `nil` for all other commands, and for invalid input, which the tree reports.
    private static func parsedAlone(_ arguments: [String]) -> (any ParsableCommand)? {
        let rest = Array(arguments.dropFirst())
        // If parsing fails, the tree fails in the same way, and reports the error with the usage of the whole tool.
        switch arguments.first {
        case "list": return try? List.parseAsRoot(rest) as? List
        case "show": return try? Show.parseAsRoot(rest) as? Show
        default: return nil
        }
    }

    // Don't always build the tree: showing stored data takes less time.
    static func main() {
        runTool { arguments in
            if let command = parsedAlone(arguments) { return command }
            return try await asyncParseAsRoot(arguments)
        }
    }
}

extension GistsAPI {
    /// GitHub ends a request after 10 seconds at most, and then shows the new gist in the lists.
    var searchDelay: Duration { .seconds(10) }
}
