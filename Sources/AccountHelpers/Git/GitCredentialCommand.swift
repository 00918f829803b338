import AccountCommands
import AccountKit
import ArgumentParser
import AccountSupport

struct GitCredentialCommand<App: AccountApplication>: HelperCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "git-credential", _superCommandName: "account",
            abstract: "Provide a session's token to git, which runs this command.",
            discussion: """
                git gets tokens only for URLs that have a rule; see `\(CommandLine.toolName) rule`. Setup:

                  git config --global --add credential.helper '!\(CommandLine.toolName) git-credential'
                """)
    }

    enum Operation: String, ExpressibleByArgument, CaseIterable {
        case get, store, erase
    }

    @Argument(help: "Operation that git requests: get, store or erase. Others are ignored.")
    var operation: String

    @OptionGroup var helper: HelperOptions

    init() {}

    init(operation: String) {
        self.operation = operation
        helper = .none
    }

    /// A later version of git may send a line of 1 MiB.
    private static var maximumByteCount: Int { 4 << 20 }

    func run() async throws {
        // Helpers must ignore unknown operations (gitcredentials(7), "Custom helpers").
        guard let operation = Operation(rawValue: operation) else { return }
        var request: GitCredentialRequest?
        var rule: Rule?
        try await perform {
            request = try read()
            guard operation != .store, let request, let url = request.url else { return nil }
            let preferences = Preferences(container: try App.container())
            rule = try preferences.rules().rule(for: url, username: request.username) { WorkingDirectory.path }
            guard let rule else {
                if operation == .get { try sayPathIsMissing(url, preferences) }
                return nil
            }
            return try context(of: rule.session)
        } _: { context in
            guard let request, let rule else { return }
            if operation == .get { return try await get(request, rule, context) }
            if let refused = request.refused { try await context.distrust(refused) }
        }
    }

    private func read() throws -> GitCredentialRequest {
        try Terminal.withInput(upTo: Self.maximumByteCount) { bytes in
            do {
                return try GitCredentialRequest(bytes)
            } catch {
                throw AccountError(
                    .invalidArgument, "standard input is not a git request", hint: "use key=value lines without NULs")
            }
        }
    }

    private func get(_ request: GitCredentialRequest, _ rule: Rule, _ context: CommandContext<App>) async throws {
        let token: HelperToken
        do {
            try request.url?.checkStaysHere()
            token = try await context.helperToken(for: rule)
        } catch {
            // The rule covers this host, so git need not ask other helpers or the user.
            try Terminal.printText("quit=1\n")
            throw error
        }
        let username = TokenUsername.name(
            rule: rule, requested: request.username, challenges: request.challenges, service: context.serviceName,
            account: token.username)
        try Terminal.print(GitCredentialResponse.pieces(token, username: username, asBearer: request.takesBearer))
    }

    private func sayPathIsMissing(_ url: RuleURL, _ preferences: Preferences) throws {
        guard url.path.isEmpty, try preferences.rules().rules.contains(where: { url.covers($0.url) }) else { return }
        Terminal.say(
            "\(CommandLine.toolName): the rules for \(url.host) are for paths, but git does not send the path: run "
                + "`git config --global credential.\(url.origin).useHttpPath true`")
    }
}

enum GitCredentialResponse {
    /// Returns the lines in the order that git-credential(1) requires: each capability before the keys that need it.
    static func pieces(_ token: HelperToken, username: String, asBearer: Bool) -> [OutputPiece] {
        var pieces: [OutputPiece] = []
        if asBearer {
            pieces += [
                .text("capability[]=authtype\nauthtype=Bearer\ncredential="), .secret(token.token),
                .text("\nephemeral=1\n"),
            ]
        }
        pieces += [.text("username=\(username)\npassword="), .secret(token.token), .text("\n")]
        if let seconds = token.expiresAt?.timeIntervalSince1970, let whole = Int64(exactly: seconds.rounded(.down)) {
            pieces.append(.text("password_expiry_utc=\(whole)\n"))
        }
        return pieces
    }
}

extension CommandContext {
    var serviceName: String? { readableService(of: session)?.name }
}
