import AccountKit
import AccountSupport
import ArgumentParser

struct LoginCommand<App: AccountApplication>: AccountSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "login", abstract: "Sign in.",
            discussion: """
                \(App.offers([.browser, .device]) ? defaultWay : "")`login` accepts no secrets as arguments, \
                because other users of the machine can see arguments.

                \(examples.map { "  \(CommandLine.toolName) login\($0)" }.joined(separator: "\n"))
                """ + (App.signInHelp.isEmpty ? "" : "\n\n" + App.signInHelp))
    }

    private static var defaultWay: String {
        """
        \(App.acceptsIssuer ? "On a terminal, `login` asks for the service, unless options name it, and for the client ID if the service requires one. " : "")By \
        default, `login` opens your browser. If there is no browser, `login` shows a code to enter on another device.\u{20}
        """
    }

    private static var examples: [String] {
        guard App.acceptsIssuer else {
            return [""] + (App.offers([.device]) ? [" --device"] : [])
                + (App.offers([.token]) ? [" --with-token < token.txt"] : [])
        }
        return [
            "", " https://api.example.com", " --service github --client-id Iv1.0123456789abcdef",
            " --issuer https://auth.example.com --client-id my-tool",
            " --issuer https://auth.example.com --with-token < token.txt",
            " --issuer https://auth.example.com --client-credentials --client-id nightly --client-key key.pem",
            " --issuer https://auth.example.com --workload github-actions",
        ]
    }

    @Argument(
        help: ArgumentHelp(
            "URL of the API to sign in for, or of its authorization server.",
            visibility: App.acceptsIssuer ? .default : .hidden))
    var url: String?

    @Option(
        name: .customLong("service"),
        help: ArgumentHelp(
            "Known service, such as github; with --issuer, a self-hosted instance of that service.",
            valueName: "name", visibility: App.acceptsIssuer ? .default : .hidden))
    var serviceName: String?

    @OptionGroup var issuer: IssuerOptions<App>

    @Flag(help: ArgumentHelp("Show a code to enter on another device.", visibility: App.visibility(of: .device)))
    var device = false

    @Flag(
        inversion: .prefixedNo,
        help: ArgumentHelp(
            "With --device, also show the address as a QR code, if qrencode is installed.",
            visibility: App.visibility(of: .device)))
    var qr = true

    @Flag(
        help: ArgumentHelp(
            "Sign in with the browser on this machine, or paste the final address of a browser on another machine.",
            visibility: App.visibility(of: .browser)))
    var web = false

    @Flag(
        help: ArgumentHelp(
            "Sign in with a browser on another machine, and paste the final address of that browser here.",
            visibility: App.visibility(of: .browser)))
    var paste = false

    @Flag(
        help: ArgumentHelp(
            "Prompt for a user name and a password.",
            visibility: App.visibility(of: .password)))
    var password = false

    @Flag(
        help: ArgumentHelp(
            "Read the password from the first line of standard input.", visibility: App.visibility(of: .password)))
    var passwordStdin = false

    @Flag(
        help: ArgumentHelp(
            "Read an access token from the first line of standard input.", visibility: App.visibility(of: .token)))
    var withToken = false

    @Flag(
        help: ArgumentHelp(
            """
            Sign in as the client in --client-id, without a user; the client secret is in \(App.clientSecretVariable), \
            unless --client-key names a key.
            """,
            visibility: App.acceptsIssuer ? .default : .hidden))
    var clientCredentials = false

    @Flag(
        help: ArgumentHelp(
            """
            With --client-credentials, read the client secret from the first line of standard input. The secret is \
            not stored: later token requests need \(App.clientSecretVariable).
            """, visibility: App.acceptsIssuer ? .default : .hidden))
    var clientSecretStdin = false

    @Option(
        help: ArgumentHelp(
            """
            With --client-credentials, authenticate with the private key in this file instead of with a secret \
            (private_key_jwt). Only the path is stored: each token request reads the file.
            """, valueName: "file", visibility: App.acceptsIssuer ? .default : .hidden))
    var clientKey: String?

    @Option(
        name: .customLong("client-key-id"),
        help: ArgumentHelp(
            "Key ID (kid) in the assertions that --client-key signs.", valueName: "id",
            visibility: App.acceptsIssuer ? .default : .hidden))
    var clientKeyID: String?

    @Option(
        help: ArgumentHelp(
            "Audience of the assertions that --client-key signs (default: the issuer).", valueName: "audience",
            visibility: App.acceptsIssuer ? .default : .hidden))
    var clientAssertionAudience: String?

    @Option(
        help: ArgumentHelp(
            """
            Sign in with the identity that the platform gives this program, without a user: github-actions, gitlab, \
            'env NAME', 'file PATH' or 'command PROGRAM ARGUMENTS'. Each token request uses a new assertion. With 'id-jag \
            ISSUER CLIENT-ID SOURCE', the source contains an ID token, for which the identity provider issues the assertion.
            """, valueName: "source", visibility: App.acceptsIssuer ? .default : .hidden))
    var workload: String?

    @Option(
        help: ArgumentHelp(
            """
            How the service accepts the assertion of --workload: client-assertion, jwt-bearer or token-exchange \
            (default: the first one that its metadata lists).
            """, valueName: "grant", visibility: App.acceptsIssuer ? .default : .hidden))
    var workloadGrant: String?

    @Option(
        help: ArgumentHelp(
            "User name, for --password or for a service that does not identify the user.",
            visibility: App.acceptsIssuer ? .default : App.visibility(of: .password)))
    var username: String?

    @OptionGroup var request: RequestOptions<App>

    @Flag(
        help: ArgumentHelp(
            """
            Sign in again for the scopes in --scope, or for everything that the API requires, in addition to what the \
            session has.
            """, visibility: App.visibility(of: .browser, .device)))
    var stepUp = false

    @Flag(
        help: ArgumentHelp(
            "Register this tool again, at a service that registers tools itself.",
            visibility: App.visibility(of: .browser, .device)))
    var register = false

    @Flag(
        help: """
            Replace an archive in a shared store that cannot be opened here. The other machines then need this \
            machine's key, and the tokens in the archive stay valid at the service.
            """)
    var replace = false

    @OptionGroup(title: "Common options") var options: CommonOptions

    func validate() throws {
        try validateClientCredentials()
        try validateWorkload()
        let ways = [device, web || paste, password || passwordStdin, withToken].filter { $0 }.count
        if ways > 1 { throw ValidationError("choose one of --device, --web, --password and --with-token") }
        if request.dpop == true, withToken {
            throw ValidationError("--dpop cannot be combined with --with-token: only a sign-in binds tokens to a key")
        }
        if username != nil, withToken {
            throw ValidationError("--username cannot be combined with --with-token: the service identifies the user")
        }
        if request.redirectURI != nil, device || password || passwordStdin || withToken {
            throw ValidationError("--redirect-uri applies only to a sign-in with a browser: use --web or --paste")
        }
        if let url, url.firstRange(of: "://") == nil {
            // The argument may be a token, so don't repeat it.
            guard !withToken else {
                throw ValidationError("--with-token reads the token from standard input; the argument is not a URL")
            }
            guard !password else {
                throw ValidationError(
                    "the argument is not a URL, such as https://api.example.com; --password prompts for the password")
            }
            if let service = App.services.first(where: { $0.name == url.lowercased() }) {
                throw ValidationError("\(service.name) is not a URL: use --service \(service.name)")
            }
            throw ValidationError("the argument is not a URL, such as https://api.example.com")
        }
        if url != nil, serviceName != nil {
            throw ValidationError("choose one of a URL and --service")
        }
        if stepUp, password || passwordStdin || withToken {
            throw ValidationError("--step-up is for a sign-in with a browser or another device")
        }
    }

    func run(in context: CommandContext<App>) async throws {
        try context.refuseEnvironmentToken(to: "sign in")
        guard LoginConversation<App>.isPossible(options), url == nil, issuer.issuer == nil, !withToken, !stepUp,
            !clientCredentials, workload == nil,
            let answers = try await LoginConversation(context: context).answers(beside: self)
        else { return try await signIn(in: context, answering: nil) }
        guard let session = answers.session else { return try await signIn(in: context, answering: answers) }
        let other = try CommandContext<App>(options, session: session)
        do {
            try await signIn(in: other, answering: answers)
        } catch {
            await other.finishPendingRequests()
            throw error
        }
        await other.finishPendingRequests()
    }

    /// Whether the options choose how to sign in, or for which user.
    var choosesWay: Bool {
        clientCredentials || workload != nil || device || web || paste || password || passwordStdin || withToken
            || username != nil
    }

    private func signIn(
        in context: CommandContext<App>, answering answers: LoginConversation<App>.Answers?
    ) async throws {
        let extended = stepUp ? try await stepUpAccount(in: context) : nil
        var service = try service(in: context, answering: answers, extending: extended)
        let repeated = await repeatedMachine(in: context, answering: answers)
        let isMachine = clientCredentials || workload != nil || repeated != nil
        let authority =
            isMachine && App.acceptsIssuer
            ? try context.authority(for: try machineService(from: service, repeating: repeated), timeout: .seconds(30))
            : try await authority(for: &service, in: context, answering: answers, extending: extended)
        let way = try isMachine ? .client : answers?.way ?? way(for: authority, of: service)
        try checkClientID(of: service, for: way)
        if way == .token, request.dpop == true {
            throw AccountError(
                .invalidArgument, "an existing token cannot be bound to a key", hint: "omit --dpop")
        }
        // Deliver pending revocations first. If the new session has the same user, a later revocation could end it.
        await context.deliverRevocations(to: authority.accountIssuer)
        let question = ReplacementQuestion(context, extending: extended)
        let store = replace ? context.store.replacingUnreadableArchive() : context.store
        store.confirmReplacements { stored, new throws(AccountError) in try await question.decide(stored, new) }
        let account: Account
        do {
            account = try await SignalGuard.shared.whileWaiting {
                switch way {
                case .device: try await signInOnDevice(store, authority, question)
                case .browser:
                    try await registeringAgain(at: authority) {
                        try await signInWithBrowserOrDevice(store, authority, question)
                    }
                case .password: try await signInWithPassword(store, authority)
                case .token: try await signInWithToken(store, authority, context.hint, asks: answers?.way == .token)
                case .client: try await signInAsClient(store, authority)
                }
            }
        } catch {
            let error = advised(
                error, isMachine: isMachine,
                isWorkload: workload != nil || repeated?.credentials.machine?.workload != nil,
                hasTypedSecret: service.clientSecret != nil)
            let advice =
                "`\(context.hint.command("login", "--replace"))` replaces the archive; the other machines then need this machine's key"
            throw replace ? error : await context.adding(advice, to: error, about: store)
        }
        service.issuer = account.issuer ?? service.issuer
        let session = question.otherSession ?? context.session
        let resources = authority is any DiscoveringAuthority ? account.credentials.resources : []
        await saveSettings(of: service, resources, in: session, context)
        if context.location != nil {
            await context.keepRegistration(of: account)
            // Until now, the authority has prevented the removal of the registration.
            withExtendedLifetime(authority) {}
        }
        reportReplacement(by: account, in: session, question, context)
        if options.json {
            var document = StateDocument(.verified(account), session: session)
            document.replaced = question.replaced.map(StateDocument.AccountPart.init)
            try JSONDocument.print(document)
        } else {
            let place = account.issuer.map { " at \($0)" } ?? ""
            let name = session == .default ? "" : " (session \(session))"
            let client = account.isClient ? "the client " : ""
            Terminal.say(.success, "Signed in as \(client)\(bold: account.shownName)\(place)\(name).")
            let advice = await (authority as? any RefreshTokenAdvisor)?.refreshTokenAdvice(usesBrowser: way == .browser)
            let hint = context.hint(for: session)
            let limit = StateText.limit(of: account, advice: advice, isToken: way == .token, hint)
            if let limit { Terminal.say(.warning, StyledText(limit)) }
            if clientSecretStdin, Environment.value(App.clientSecretVariable) == nil {
                let variable = App.clientSecretVariable
                Terminal.say("The client secret is not stored. Set \(variable) for commands that need a new token.")
            }
        }
        if let authority = authority as? any RegisteringAuthority {
            await context.removeReplacedRegistration(before: account, in: context.store, at: authority)
        }
        // Also deliver the revocation of the replaced session.
        await context.deliverRevocations()
    }

    private func service(
        in context: CommandContext<App>, answering answers: LoginConversation<App>.Answers?, extending account: Account?
    ) throws -> AccountService {
        var issuer = issuer
        issuer.issuer = answers?.issuer ?? issuer.issuer
        issuer.clientID = answers?.clientID ?? issuer.clientID
        var service = try context.service(
            named: answers?.serviceName ?? serviceName, at: answers?.url ?? url, issuer, request)
        service.username = username
        service.clientSecret = answers?.clientSecret
        service.registersAgain = register
        if let account {
            try addEarlierScopes(of: account, to: &service, in: context)
            if account.credentials.proofKey != nil { service.bindsTokens = request.dpop ?? true }
        }
        return service
    }

    /// Returns the authority of a service. If an API names the service, this method finds it, and adds the scopes that
    /// the API requires to `service`.
    private func authority(
        for service: inout AccountService, in context: CommandContext<App>,
        answering answers: LoginConversation<App>.Answers?, extending account: Account?
    ) async throws -> any AccountAuthority {
        let authority = try context.authority(for: service, timeout: .seconds(30))
        if let authority = authority as? any DiscoveringAuthority {
            // A remembered client ID is only for the service that the user gave it for.
            let isRemembered = (answers?.clientID ?? issuer.clientID) == nil && service.clientID != nil
            let expected = isRemembered ? try context.preferences.service(of: context.session)?.issuer : nil
            return try await prepared(
                authority, for: account, expecting: expected, adding: &service.scopes, in: context)
        }
        guard let account else { return authority }
        return try context.authority(for: widened(service, by: account), timeout: .seconds(30))
    }

    /// Stores the service of a session, and creates rules for its hosts and for APIs. A failure does not undo the
    /// sign-in.
    private func saveSettings(
        of service: AccountService, _ resources: [String], in session: SessionName, _ context: CommandContext<App>
    ) async {
        do {
            if App.acceptsIssuer { try await context.preferences.setService(service, of: session) }
            try await makeRules(for: service, and: resources, in: session, context)
        } catch {
            Terminal.say("note: you are signed in, but the settings were not saved (\(error))")
        }
    }

    /// Says which archive or account the sign-in replaced.
    private func reportReplacement(
        by account: Account, in session: SessionName, _ question: ReplacementQuestion<App>,
        _ context: CommandContext<App>
    ) {
        if let place = context.store.quarantinedArchive {
            Terminal.say("The archive that could not be opened was moved to \(place).")
            if context.store.isShared {
                Terminal.say(
                    "Other machines now need this machine's key. The tokens in the old archive stay valid at the "
                        + "service until they expire.")
            }
        }
        if let replaced = question.replaced, !question.isAsked {
            Terminal.say(
                "note: \(account.shownName) replaces \(replaced.shownNameAndPlace) in session \(session). To keep both, sign in with "
                    + "`\(context.tool) login --session NAME`.")
        }
    }

    /// Creates rules for the hosts of a service and for APIs, except for hosts that already have a rule for another
    /// session.
    private func makeRules(
        for service: AccountService, and resources: [String], in session: SessionName, _ context: CommandContext<App>
    ) async throws {
        var urls: [RuleURL] = []
        for text in App.tokenURLs(of: service) + resources {
            do {
                urls.append(try RuleURL(text))
            } catch {
                // Don't show a URL with a password.
                let shown = error == .credentials ? "its URL" : text
                Terminal.say(
                    "note: no rule was created, so other programs get no token there: \(shown) \(error.text)."
                )
            }
        }
        guard !urls.isEmpty else { return }
        let others = try await context.preferences.changeRules { rules in
            urls.compactMap { rules.add(unlessRuled: Rule(url: $0, session: session)) }
        }
        guard let other = others.first else { return }
        Terminal.say(
            "note: git and other programs still use session \(other.session) at \(other.url.host). To change this, "
                + "run `\(context.tool) rule add \(other.url.origin) --session \(session)`. Add --directory for only one directory."
        )
    }

    /// Throws an error if a known service requires a client ID, and there is none.
    private func checkClientID(of service: AccountService, for way: SignInWay) throws(AccountError) {
        guard way != .token, service.clientID == nil,
            let known = App.services.first(where: { $0.name == service.name })
        else { return }
        throw AccountError(
            .misconfigured, "\(known.title) requires a client ID",
            hint: "register an app at \(known.registrationPage), and pass its client ID with --client-id")
    }

    /// Adds a hint to an error if the client ID, or the client secret from the environment, may be wrong.
    private func advised(_ error: any Error, isMachine: Bool, isWorkload: Bool, hasTypedSecret: Bool) -> any Error {
        let variable = App.clientSecretVariable
        guard var advised = error as? AccountError, advised.code == .misconfigured, advised.hint == nil else {
            return error
        }
        if isWorkload {
            // Other errors of this code contain their advice.
            guard case .oauthError? = advised.requestFailure else { return error }
            advised.hint =
                "check that the service trusts the issuer, the subject and the audience of the assertion. The audience "
                + "must be the address of the service"
        } else if isMachine {
            advised.hint =
                clientKey.map { "check --client-id, and that the service knows the public key of \($0)" }
                ?? "check --client-id, and the client secret in \(variable) or from --client-secret-stdin"
        } else if hasTypedSecret {
            advised.hint = "check the client ID and the client secret"
        } else if Environment.value(variable) != nil {
            advised.hint = "check the client secret in \(variable), or unset \(variable) if the client has no secret"
        } else if case .oauthError(.invalidClient, _)? = advised.requestFailure {
            advised.hint = "check --client-id; if the client has a secret, set \(variable)"
        }
        return advised
    }

    private func way(
        for authority: any AccountAuthority, of service: AccountService
    ) throws(AccountError) -> SignInWay {
        if device { return .device }
        if web || paste { return .browser }
        if withToken { return .token }
        if password || passwordStdin || username != nil { return .password }
        // An app whose only service is a ``MachineAuthority`` needs no user, and so no terminal.
        if !App.acceptsIssuer, !App.offers([.device, .browser, .password, .token]), App.offers([.client]) {
            return .client
        }
        guard Terminal.isTerminal(.input) else {
            let known = App.services.first { $0.name == service.name }
            let ways: [(way: SignInWay, option: String, isSupported: Bool)] = [
                (.device, "--device", true), (.browser, "--web", known?.supportsBrowser != false),
                (.token, "--with-token", true), (.password, "--password-stdin and --username NAME", known == nil),
                (.client, "--client-credentials", App.acceptsIssuer && known == nil),
            ]
            let offered = ways.filter { $0.isSupported && App.offers([$0.way]) }.map(\.option)
            let client =
                known != nil && service.clientID == nil
                ? ". All but --with-token also require --client-id, with the client ID of a registered app" : ""
            throw AccountError(
                .invalidArgument, "there is no terminal for a prompt",
                hint: "choose how to sign in with \(offered.joined(separator: ", or "))\(client)")
        }
        if authority is any BrowserAuthority, ExternalProgram.hasBrowser { return .browser }
        if authority is any DeviceAuthority { return .device }
        return authority is any PasswordAuthority ? .password : .token
    }
}
