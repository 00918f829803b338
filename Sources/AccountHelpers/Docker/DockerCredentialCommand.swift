import AccountCommands
import AccountKit
import AccountSupport
import ArgumentParser

struct DockerCredentialCommand<App: AccountApplication>: HelperCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "docker-credential", _superCommandName: "account",
            abstract:
                "Provide a session's token to docker, podman and skopeo, which run this as docker-credential-account.",
            discussion: """
                A registry gets a token only if it has a rule; see `\(CommandLine.toolName) rule`. For setup, add \
                `{"credHelpers": {"ghcr.io": "account"}}` to ~/.docker/config.json. This helper stores no passwords, \
                so `docker login` fails for these registries.

                  \(CommandLine.toolName) rule add https://ghcr.io
                  docker pull ghcr.io/example/notes
                """)
    }

    @Argument(help: "Action that docker requests: get, store, erase, list or version.")
    var action: String

    @OptionGroup var helper: HelperOptions

    init() {}

    init(action: String) {
        self.action = action
        helper = .none
    }

    private static var maximumByteCount: Int { 1 << 20 }

    /// An error that docker reads from standard output, because it does not show standard error to the user.
    struct Refusal: Error {
        var text: String
    }

    func run() async throws {
        do {
            switch action {
            case "get": try await get(try server())
            case "erase": try await erase(try server())
            case "list": try await list()
            case "store": try await store()
            case "version":
                try Terminal.printLine("docker-credential-account (\(App.identifier)) v\(accountKitVersion)")
            default:
                throw Refusal(
                    text: "unknown credential action `\(action.shown)`: use get, store, erase, list or version")
            }
        } catch let refusal as Refusal {
            try Terminal.printLine(refusal.text)
            throw ExitCode.failure
        } catch let error as AccountError where !(error.cause is Interruption) {
            let text = "\(CommandLine.toolName): \(error.userText)".split(separator: "\n").joined(separator: " ")
            Terminal.say(text)
            try Terminal.printLine(text)
            throw ExitCode.failure
        } catch is Terminal.ClosedOutput {
            SignalGuard.endProcessByClosedPipe()
        }
    }

    private func server() throws -> String {
        try Terminal.withInput(upTo: Self.maximumByteCount) { bytes in
            let line = bytes.firstLine
            guard !line.isEmpty else { throw Refusal(text: DockerCredential.noServer) }
            // A name that is not valid text matches no host.
            guard let text = String(validating: line, as: UTF8.self) else {
                throw Refusal(text: DockerCredential.notFound)
            }
            return text
        }
    }

    private func rule(for server: String) throws -> Rule? {
        let rules = try Preferences(container: try App.container()).rules()
        for url in DockerCredential.urls(of: server) {
            if let rule = rules.rule(for: url, in: { WorkingDirectory.path }) { return rule }
        }
        return nil
    }

    private func get(_ server: String) async throws {
        guard let rule = try rule(for: server) else { throw Refusal(text: DockerCredential.notFound) }
        try rule.url.checkStaysHere()
        let context = try context(of: rule.session)
        do {
            let token = try await context.helperToken(for: rule)
            try JSONDocument.print(
                DockerCredential.Credentials(
                    serverURL: server, username: username(rule, token.username, context), secret: token.token.reveal()))
        } catch {
            await context.finishPendingRequests()
            throw error
        }
        await context.finishPendingRequests()
    }

    /// Returns the user name for docker, but never `<token>`: with that name, docker does not use the secret as a
    /// password.
    private func username(_ rule: Rule, _ name: String?, _ context: CommandContext<App>) -> String {
        let name = TokenUsername.name(rule: rule, service: context.serviceName, account: name)
        return name == "<token>" ? "oauth2" : name
    }

    /// Keeps the user signed in, because other programs use the session too. A token whose expiry is unknown is renewed
    /// before the next `get`, because docker does not say which token a registry refused.
    private func erase(_ server: String) async throws {
        guard let rule = try rule(for: server) else { return }
        let context = try context(of: rule.session)
        if let credentials = await context.archive.load().account?.credentials, credentials.expiresAt == nil {
            try await context.distrust(credentials.accessToken)
        }
        Terminal.say(
            "\(CommandLine.toolName): session \(rule.session) stays signed in. "
                + "`\(CommandLine.toolName) rule remove \(rule.url)` withholds its token from \(rule.url.host); `\(CommandLine.toolName) logout --session \(rule.session)` signs out"
        )
    }

    private func list() async throws {
        let rules = try Preferences(container: try App.container()).rules().sorted
        var usernames: [String: String] = [:]
        var names: [SessionName: String?] = [:]
        for rule in rules where rule.directory == nil {
            let context = try context(of: rule.session)
            if names[rule.session] == nil {
                // Omit sessions that are signed out or unreadable; `get` reports the reason.
                names[rule.session] = .some(await context.archive.load().account.map { $0.username ?? "oauth2" })
            }
            guard let name = names[rule.session] ?? nil, usernames[rule.url.description] == nil else { continue }
            usernames[rule.url.description] = username(rule, Rule.isUsername(name) ? name : nil, context)
        }
        try JSONDocument.print(usernames)
    }

    /// Accepts the session's own token, which is already stored, and rejects all other credentials.
    private func store() async throws {
        let stored = try Terminal.withInput(upTo: Self.maximumByteCount) { try DockerCredential.Credentials($0) }
        guard !stored.serverURL.isEmpty else { throw Refusal(text: DockerCredential.noServer) }
        guard !stored.username.isEmpty else { throw Refusal(text: DockerCredential.noUsername) }
        if let rule = try rule(for: stored.serverURL), stored.username != "<token>",
            try await context(of: rule.session).isCurrent(Secret(stored.secret))
        {
            return
        }
        throw Refusal(
            text:
                "\(CommandLine.toolName) stores no passwords: sign in with `\(CommandLine.toolName) login`, and add "
                + "the registry with `\(CommandLine.toolName) rule add`; or set another helper for this registry "
                + "(credHelpers in docker's config.json)")
    }
}
