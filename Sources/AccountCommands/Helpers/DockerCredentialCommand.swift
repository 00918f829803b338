import AccountKit
import ArgumentParser

struct DockerCredentialCommand<App: AccountApplication>: HelperCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "docker-credential", _superCommandName: "account",
            abstract:
                "Give docker, podman and skopeo the token of a sign-in; they run this as docker-credential-account.",
            discussion: """
                A registry gets a token if it has a rule; see `\(CommandLine.toolName) rule`. To set it up, add \
                `{"credHelpers": {"ghcr.io": "account"}}` to ~/.docker/config.json. No password is kept here: what `docker login` wants to store is refused.
                """)
    }

    @Argument(help: "What docker wants: get, store, erase, list or version.")
    var action: String

    @OptionGroup var helper: HelperOptions

    /// Made by the parser.
    init() {}

    init(action: String) {
        self.action = action
        helper = .none
    }

    private static var maximumByteCount: Int { 1 << 20 }

    /// Docker reads what went wrong from standard output, and shows a person no standard error of its own accord.
    struct Refusal: Error {
        var text: String
    }

    func run() async throws {
        do {
            switch action {
            case "get": try await get(try server())
            case "erase": try erase(try server())
            case "list": try await list()
            case "store": try await store()
            case "version": try Terminal.printLine("docker-credential-account (\(App.identifier)) v\(toolVersion)")
            default:
                throw Refusal(
                    text: "unknown credential action `\(action.shown)`: use get, store, erase, list or version")
            }
        } catch let refusal as Refusal {
            try Terminal.printLine(refusal.text)
            throw ExitCode.failure
        } catch let error as AccountError where !(error.cause is Interruption) {
            let text = "\(CommandLine.toolName): \(error)".split(separator: "\n").joined(separator: " ")
            Terminal.say(text)
            try Terminal.printLine(text)
            throw ExitCode.failure
        } catch is Terminal.ClosedOutput {
            SignalGuard.endProcessByClosedPipe()
        }
    }

    private func server() throws -> String {
        try Terminal.withInput(upTo: Self.maximumByteCount) { bytes in
            let line = bytes.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
            guard !line.isEmpty else { throw Refusal(text: DockerCredential.noServer) }
            // A name that is no text is no host's.
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
            let token = try await context.helperToken()
            try JSONDocument.print(
                DockerCredential.Credentials(
                    serverURL: server, username: username(rule, token.username, context), secret: token.token.reveal()))
        } catch {
            await context.finishPendingRequests()
            throw error
        }
        await context.finishPendingRequests()
    }

    /// Docker takes the user name `<token>` to mean that the secret is no password.
    private func username(_ rule: Rule, _ name: String?, _ context: CommandContext<App>) -> String {
        let name = TokenUsername.name(rule: rule, service: context.serviceName, account: name)
        return name == "<token>" ? "oauth2" : name
    }

    /// Nobody is signed out by it: the sign-in is other programs' too.
    private func erase(_ server: String) throws {
        guard let rule = try rule(for: server) else { return }
        Terminal.say(
            "\(CommandLine.toolName): session \(rule.session) stays signed in: `\(CommandLine.toolName) rule remove \(rule.url)` "
                + "takes its token from \(rule.url.host), and `\(CommandLine.toolName) logout --session \(rule.session)` ends it"
        )
    }

    private func list() async throws {
        let rules = try Preferences(container: try App.container()).rules().sorted
        var usernames: [String: String] = [:]
        var names: [SessionName: String?] = [:]
        for rule in rules where rule.directory == nil {
            let context = try context(of: rule.session)
            if names[rule.session] == nil {
                // Who is not signed in, or cannot be read now, is not in the list; `get` says why.
                names[rule.session] = .some(await context.archive.load().account.map { $0.username ?? "oauth2" })
            }
            guard let name = names[rule.session] ?? nil, usernames[rule.url.description] == nil else { continue }
            usernames[rule.url.description] = username(rule, Rule.isUsername(name) ? name : nil, context)
        }
        try JSONDocument.print(usernames)
    }

    /// There is nothing to store of what is handed out here, and nothing else is kept.
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
                "\(CommandLine.toolName) keeps no passwords: sign in with `\(CommandLine.toolName) login`, and name the "
                + "registry with `\(CommandLine.toolName) rule add`; or give this registry another helper (credHelpers in docker's "
                + "config.json)")
    }
}
