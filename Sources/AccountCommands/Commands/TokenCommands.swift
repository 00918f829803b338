import AccountKit
import ArgumentParser

struct TokenCommand<App: AccountApplication>: AccountSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "token", _superCommandName: "account",
            abstract: "Print a valid access token, refreshing it if needed.",
            discussion: """
                If necessary, the command refreshes the token before printing it, so that scripts do not receive an \
                expired token.

                  curl -H "Authorization: Bearer $(\(CommandLine.toolName) token)" https://api.example.com
                  \(CommandLine.toolName) token --audience https://api.example.com --json
                """)
    }

    @Flag(
        name: .customLong("id-token"),
        help: "Print the OpenID Connect ID token instead, unless it has expired.")
    var usesIDToken = false

    @Option(
        help: ArgumentHelp(
            "Refresh the token unless it is valid for this many seconds (default: 60, or half of the token's "
                + "lifetime if that is less).", valueName: "seconds"))
    var minValidity: Double?

    @OptionGroup var target: TargetOptions
    @OptionGroup(title: "Common options") var options: CommonOptions

    init() {}

    init(minValidity: Double?) {
        self.minValidity = minValidity
        usesIDToken = false
        target = .none
        options = .none
    }

    func validate() throws {
        if let minValidity, minValidity < 0 || !minValidity.isFinite {
            throw ValidationError("--min-validity requires a number of seconds, 0 or more")
        }
        if usesIDToken, try target.target() != nil {
            throw ValidationError(
                "an ID token is only for the client of this session: omit --audience, --resource and --scope")
        }
    }

    private struct Document: Encodable {
        var token: String
        /// `nil` for an ID token, which is not used for requests.
        var tokenType: String?
        var expiresAt: String?
        var session: String
        var source: String?
    }

    func run(in context: CommandContext<App>) async throws {
        if usesIDToken { return try await printIDToken(context) }
        if let target = try target.target() { return try await printToken(for: target, context) }
        if let token = App.environmentToken {
            return try print(token, source: App.tokenVariable, context)
        }
        guard let account = await context.store.load().account else { return try await fail(context) }
        let usable = try await context.withUsableToken(
            account, minimumValidity: minValidity.map { .seconds(min($0, 1e12)) })
        let token = usable.credentials.accessToken
        try print(token, of: usable.credentials, context)
        context.warn(ifTokenUntil: usable.credentials.expiresAt, isShorterThan: minValidity)
        // Deliver revocations only if the service has just responded. Otherwise, the command must not use the network.
        if token != account.credentials.accessToken { await context.deliverRevocations(to: account.issuer) }
    }

    private func printToken(for target: TokenTarget, _ context: CommandContext<App>) async throws {
        try context.refuseEnvironmentToken(to: "get a token for another API")
        guard let account = await context.store.load().account else { return try await fail(context) }
        let derived = try await context.withDerivedToken(
            for: target, of: account, minimumValidity: minValidity.map { .seconds(min($0, 1e12)) })
        try print(derived.credentials.accessToken, of: derived.credentials, context)
        context.warn(ifTokenUntil: derived.credentials.expiresAt, isShorterThan: minValidity)
        if account.credentials.derivedToken(for: target) != derived {
            await context.deliverRevocations(to: account.issuer)
        }
    }

    private func print(
        _ token: Secret, of credentials: Credentials? = nil, source: String? = nil, _ context: CommandContext<App>
    ) throws {
        guard options.json else { return try Terminal.printLine(token) }
        try JSONDocument.print(
            Document(
                token: token.reveal(), tokenType: credentials?.tokenType ?? "Bearer",
                expiresAt: credentials?.expiresAt.map(StateText.iso), session: context.session.rawValue,
                source: source))
    }
}

extension TokenCommand {
    private func printIDToken(_ context: CommandContext<App>) async throws {
        guard let account = await context.store.load().account else { return try await fail(context) }
        let token = try await context.usableIDToken(
            account, minimumValidity: minValidity.map { .seconds(min($0, 1e12)) })
        if options.json {
            try JSONDocument.print(
                Document(
                    token: token.secret.reveal(), expiresAt: token.expiresAt.map(StateText.iso),
                    session: context.session.rawValue))
        } else {
            try Terminal.printLine(token.secret)
        }
        context.warn(ifTokenUntil: token.expiresAt, isShorterThan: minValidity)
        if token.secret != account.credentials.idToken { await context.deliverRevocations(to: account.issuer) }
    }
}

struct RefreshCommand<App: AccountApplication>: AccountSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "refresh", abstract: "Get new tokens from the service.",
            discussion: """
                Commands refresh tokens automatically. Use this command to test a sign-in, or after a change of permissions.

                  \(CommandLine.toolName) refresh
                """)
    }

    @OptionGroup(title: "Common options") var options: CommonOptions

    func run(in context: CommandContext<App>) async throws {
        try context.refuseEnvironmentToken(to: "refresh the stored tokens")
        guard let account = await context.store.load().account else { return try await fail(context) }
        guard !account.isOver(at: SystemWallClock().now) else { throw context.expired(account) }
        let authority = try context.authority(of: account)
        let refreshed: Account
        do {
            refreshed = try await Waiting.shown(
                for: account.issuer ?? "the service", upTo: authority.tokenRequestTimeout
            ) {
                try await context.store.refresh(with: authority)
            }
        } catch {
            await context.warnIfRenewalIsRefused(account)
            throw error
        }
        if options.json {
            try JSONDocument.print(StateDocument(.verified(refreshed), session: context.session))
        } else {
            let expiry = refreshed.credentials.expiresAt.map { ", valid until \(StateText.date($0))" } ?? ""
            Terminal.say(.success, "New tokens for \(bold: refreshed.shownName)\(expiry).")
        }
        context.warnIfNarrowed(refreshed)
        await context.deliverRevocations(to: refreshed.issuer)
    }
}

extension AccountSubcommand {
    func fail(_ context: CommandContext<App>) async throws {
        let state = await context.store.load()
        if options.json { try JSONDocument.print(StateDocument(state, session: context.session)) }
        StateText.explain(state, context.hint)
        throw state.exitCode()
    }
}
