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

                If the tokens are bound to a key of the session, each request needs a proof. --dpop-proof prints the \
                header fields with the token and a proof for one request:

                  \(CommandLine.toolName) token --dpop-proof GET $URL | curl -H @- $URL
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

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp(
            "Print the header fields of one request, with a proof for its method and URL (DPoP, RFC 9449).",
            valueName: "method url"))
    var dpopProof: [String] = []

    @Option(
        help: ArgumentHelp(
            "With --dpop-proof, the nonce from the DPoP-Nonce field of the last response.", valueName: "nonce"))
    var dpopNonce: String?

    @OptionGroup var target: TargetOptions
    @OptionGroup(title: "Common options") var options: CommonOptions

    init() {}

    init?(plain words: ArraySlice<String>) {
        (usesIDToken, minValidity, dpopProof, dpopNonce) = (false, nil, [], nil)
        (target, options) = (.none, .none)
        var words = PlainArguments(words)
        while let option = words.nextOption() {
            let isRead =
                switch option {
                case "--id-token": words.read(&usesIDToken)
                case "--min-validity": words.read(&minValidity)
                default: target.read(option, from: &words) || options.read(option, from: &words)
                }
            guard isRead else { return nil }
        }
        guard words.isAtEnd, (try? target.validate()) != nil, (try? validate()) != nil else { return nil }
    }

    func validate() throws {
        try minValidity.checkSeconds(of: "--min-validity")
        if usesIDToken, try target.target() != nil {
            throw ValidationError(
                "an ID token is only for the client of this session", hint: "omit --audience, --resource and --scope")
        }
        if !dpopProof.isEmpty, dpopProof.count != 2 {
            throw ValidationError(
                "--dpop-proof requires the method and the URL of a request",
                hint: "for example, --dpop-proof GET https://api.example.com")
        }
        if usesIDToken, !dpopProof.isEmpty { throw ValidationError("--dpop-proof cannot be combined with --id-token") }
        if dpopNonce != nil, dpopProof.isEmpty { throw ValidationError("--dpop-nonce requires --dpop-proof") }
    }

    private struct Document: Encodable {
        var token: String
        /// `nil` for an ID token, which is not used for requests.
        var tokenType: String?
        /// The value of the `DPoP` field of one request.
        var proof: String?
        var expiresAt: String?
        var session: String
        var source: String?
    }

    func run(in context: CommandContext<App>) async throws {
        if usesIDToken { return try await printIDToken(context) }
        if let target = try target.target() { return try await printToken(for: target, context) }
        if let token = App.environmentToken {
            if !dpopProof.isEmpty { try context.refuseEnvironmentToken(to: "print a proof") }
            return try print(token, source: App.tokenVariable, context)
        }
        guard let account = await context.store.load().account else { return try await fail(context) }
        if dpopProof.isEmpty { try account.credentials.checkIsBearer(context.hint) }
        let usable = try await context.withUsableToken(account, minimumValidity: minValidity.seconds)
        let token = usable.credentials.accessToken
        try print(token, of: usable.credentials, beside: usable, context)
        context.warn(ifTokenUntil: usable.credentials.expiresAt, isShorterThan: minValidity)
        // Deliver revocations only if the service has just responded. Otherwise, the command must not use the network.
        if token != account.credentials.accessToken { await context.deliverRevocations(to: account.issuer) }
    }

    private func printToken(for target: TokenTarget, _ context: CommandContext<App>) async throws {
        try context.refuseEnvironmentToken(to: "get a token for another API")
        guard let account = await context.store.load().account else { return try await fail(context) }
        let derived = try await context.withDerivedToken(for: target, of: account, minimumValidity: minValidity.seconds)
        try print(derived.credentials.accessToken, of: derived.credentials, beside: account, context)
        context.warn(ifTokenUntil: derived.credentials.expiresAt, isShorterThan: minValidity)
        if account.credentials.derivedToken(for: target) != derived {
            await context.deliverRevocations(to: account.issuer)
        }
    }

    /// Returns the value of the `DPoP` field for the request in `--dpop-proof`; `nil` without this option.
    private func proof(
        of credentials: Credentials, beside account: Account, _ context: CommandContext<App>
    ) throws -> String? {
        guard dpopProof.count == 2 else {
            try credentials.checkIsBearer(context.hint)
            return nil
        }
        guard credentials.requiresProof else {
            throw AccountError(
                .misconfigured, "the tokens of this session are not bound to a key, so their requests need no proof",
                hint: "omit --dpop-proof")
        }
        let authority = try context.authority(of: account)
        var bound = credentials
        bound.proofKey = account.credentials.proofKey
        do {
            let proof = try authority.proof(of: bound, method: dpopProof[0], url: dpopProof[1], nonce: dpopNonce)
            if let proof { return proof }
            throw AccountError(.misconfigured, "the service of this tool does not bind tokens to a key")
        } catch let AuthorityError.misconfigured(problem) {
            throw AccountError(.misconfigured, "a proof cannot be created: \(problem)")
        }
    }

    private func print(
        _ token: Secret, of credentials: Credentials? = nil, beside account: Account? = nil, source: String? = nil,
        _ context: CommandContext<App>
    ) throws {
        let proof: String? =
            if let credentials, let account { try proof(of: credentials, beside: account, context) } else { nil }
        guard options.json else {
            guard let proof else { return try Terminal.printLine(token) }
            return try Terminal.print([.text("Authorization: DPoP "), .secret(token), .text("\nDPoP: \(proof)\n")])
        }
        try JSONDocument.print(
            Document(
                token: token.reveal(), tokenType: credentials?.tokenType ?? "Bearer", proof: proof,
                expiresAt: credentials?.expiresAt.map(StateText.iso), session: context.session.rawValue,
                source: source))
    }
}

extension TokenCommand {
    private func printIDToken(_ context: CommandContext<App>) async throws {
        guard let account = await context.store.load().account else { return try await fail(context) }
        let token = try await context.usableIDToken(account, minimumValidity: minValidity.seconds)
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

    init() {}

    init?(plain words: ArraySlice<String>) {
        options = .none
        var words = PlainArguments(words)
        while let option = words.nextOption() {
            guard options.read(option, from: &words) else { return nil }
        }
        guard words.isAtEnd else { return nil }
    }

    func run(in context: CommandContext<App>) async throws {
        try context.refuseEnvironmentToken(to: "refresh the stored tokens")
        guard let account = await context.store.load().account else { return try await fail(context) }
        guard !account.isOver(at: SystemWallClock().now) else { throw StateText.end(of: account, context.hint) }
        try context.checkOwnClient(of: account)
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
