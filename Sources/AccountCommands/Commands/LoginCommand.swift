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

                \(examples.map { HelpText.example("login\($0)") }.joined(separator: "\n"))
                """ + (App.signInHelp.isEmpty ? "" : "\n\n" + App.signInHelp)
                    + (App.acceptsIssuer
                        ? "\n\nFor a sign-in without a user, see `\(CommandLine.toolName) help login machine`." : ""))
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
            "", " https://api.example.com", " https://auth.example.com --client-id my-tool",
            " --service github --client-id Iv1.0123456789abcdef",
            " https://auth.example.com --with-token < token.txt",
        ]
    }

    @Argument(
        help: ArgumentHelp(
            "URL of the API to sign in for, or of a service, such as https://auth.example.com. Remembered for the session.",
            visibility: App.acceptsIssuer ? .default : .hidden),
        completion: HelpDetail.generatesCompletions ? .list(["machine"]) : nil)
    var url: String?

    @Option(
        name: .customLong("service"),
        help: ArgumentHelp(
            "Known service, such as github. The URL is the address of a self-hosted instance.",
            valueName: "name", visibility: App.acceptsIssuer ? .default : .hidden))
    var serviceName: String?

    @OptionGroup var issuer: IssuerOptions<App>

    @OptionGroup var request: RequestOptions<App>

    @OptionGroup var ways: SignInWayOptions<App>

    @Option(
        help: ArgumentHelp(
            "User name, for --password or for a service that does not identify the user.",
            visibility: App.acceptsIssuer ? HelpDetail.more : App.moreVisibility(of: .password)))
    var username: String?

    @OptionGroup var authorization: AuthorizationOptions<App>

    @Flag(
        help: ArgumentHelp(
            """
            Sign in again for the scopes in --scope, or for everything that the API requires, in addition to what the \
            session has.
            """, visibility: App.moreVisibility(of: .browser, .device)))
    var stepUp = false

    @Flag(
        help: ArgumentHelp(
            "Register this tool again, at a service that registers tools itself.",
            visibility: App.moreVisibility(of: .browser, .device)))
    var register = false

    @Flag(help: ArgumentHelp(replaceHelp, visibility: HelpDetail.more))
    var replace = false

    /// The options of ``MachineLoginCommand``, which earlier versions had here.
    @OptionGroup(visibility: HelpDetail.earlier) var machine: MachineOptions<App>

    @OptionGroup(title: "Common options") var session: SessionOption

    @OptionGroup(title: "Common options", visibility: HelpDetail.more) var otherOptions: OtherCommonOptions

    var options: CommonOptions { CommonOptions(session, otherOptions) }

    static var replaceHelp: String {
        """
        Replace an archive in a shared store that cannot be opened here. The other machines then need this machine's \
        key, and the tokens in the archive stay valid at the service.
        """
    }

    init() {}

    /// Creates the sign-in of a command without a user.
    init(_ command: MachineLoginCommand<App>) {
        (url, serviceName, username) = (command.url, command.serviceName, nil)
        (issuer, request, machine) = (command.issuer, command.request, command.machine)
        (ways, authorization) = (.none, .none)
        (stepUp, register, replace) = (false, false, command.replace)
        (session, otherOptions) = (command.session, command.otherOptions)
    }

    func validate() throws {
        try machine.check()
        try validateMachine()
        if authorization.dpop == true, ways.withToken {
            throw ValidationError("--dpop cannot be combined with --with-token: only a sign-in binds tokens to a key")
        }
        if username?.isEmpty == true { throw ValidationError("the user name is empty") }
        if username != nil, ways.withToken {
            throw ValidationError("--username cannot be combined with --with-token: the service identifies the user")
        }
        if authorization.redirectURI != nil, ways.device || ways.usesPassword || ways.withToken {
            throw ValidationError("--redirect-uri applies only to a sign-in with a browser", hint: "use --web")
        }
        try Self.check(url, serviceName, issuer) {
            // The argument may be a token, so the messages don't repeat it.
            if App.acceptsIssuer, url == "machine" { return "write `login machine` before the options" }
            if ways.withToken { return "--with-token reads the token from standard input" }
            return ways.password ? "--password prompts for the password" : nil
        }
        if stepUp, ways.usesPassword || ways.withToken {
            throw ValidationError("--step-up is for a sign-in with a browser or another device")
        }
    }

    /// Refuses a URL that is not one, or that is given twice.
    ///
    /// - Parameter explanation: Why the argument may be something else.
    static func check(
        _ url: String?, _ serviceName: String?, _ issuer: IssuerOptions<App>, explanation: () -> String? = { nil }
    ) throws {
        if url != nil, serviceName != nil, issuer.issuer != nil {
            throw ValidationError("a sign-in with --service has one URL", hint: "omit --issuer")
        }
        guard let url else { return }
        if let separator = url.firstRange(of: "://") {
            let scheme = url[..<separator.lowerBound].lowercased()
            guard scheme != "https", scheme != "http" else { return }
            throw ValidationError("the argument is not a web URL", hint: "use https://\(url[separator.upperBound...])")
        }
        let hint =
            if let explanation = explanation() {
                explanation
            } else if let service = App.service(at: url)
                ?? (url.contains(".") ? nil : Suggestion.nearest(to: url, among: App.services.map(\.name)))
            {
                "use --service \(service)"
            } else {
                "pass a URL, such as https://api.example.com, or --service NAME"
            }
        throw ValidationError("the argument is not a URL", hint: hint)
    }

    func run(in context: CommandContext<App>) async throws {
        try context.refuseEnvironmentToken(to: "sign in")
        guard LoginConversation<App>.isPossible(options), url == nil, issuer.issuer == nil, !ways.withToken, !stepUp,
            !machine.isGiven
        else { return try await signIn(in: context, answering: nil) }
        try await LoginConversation(context: context).signIn(beside: self) { answers in
            guard let session = answers?.session else { return try await signIn(in: context, answering: answers) }
            try await signIn(in: session, answering: answers)
        }
    }

    private func signIn(in session: SessionName, answering answers: LoginConversation<App>.Answers?) async throws {
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
    var choosesWay: Bool { machine.isGiven || ways.isGiven || username != nil }

    func signIn(
        in context: CommandContext<App>, answering answers: LoginConversation<App>.Answers?
    ) async throws {
        var plan = try await plan(in: context, answering: answers)
        let earlier = await earlierAccount(in: context)
        let place = try await place(for: plan.service, plan.authority, besides: earlier, in: context)
        if case .session(let session) = place { return try await signIn(in: session, answering: answers) }
        if [.browser, .device].contains(plan.way) {
            try await confirmService(of: plan.authority, at: plan.service.url, in: context)
        }
        // Deliver pending revocations first. If the new session has the same user, a later revocation could end it.
        await context.deliverRevocations(to: plan.authority.issuer)
        var isReplacing = false
        if case .replacing = place { isReplacing = true }
        let question = ReplacementQuestion(context, extending: plan.extended, isAccepted: isReplacing)
        let account = try await perform(plan, in: context, question)
        plan.service.issuer = account.issuer ?? plan.service.issuer
        let session = question.otherSession ?? context.session
        await saveSettings(
            of: plan.service, apis(of: account, plan), for: account,
            replacing: session == context.session ? earlier : nil, in: session, context)
        if context.location != nil {
            await context.keepRegistration(of: account)
            // Until now, the authority has prevented the removal of the registration.
            withExtendedLifetime(plan.authority) {}
        }
        reportReplacement(
            by: account, in: session, of: isReplacing ? earlier : nil, question, context)
        try await report(account, of: plan, in: session, replaced: question.replaced, context)
        await context.removeReplacedRegistration(before: account, at: plan.authority)
        // Also deliver the revocation of the replaced session.
        await context.deliverRevocations()
    }

    /// Where and how to sign in, before the first request of the sign-in.
    private struct Plan {
        var service: AccountService
        let authority: any ServiceAuthority
        let way: SignInWay

        /// Whether to ask for the token, because the user chose this way in the conversation.
        let asksForToken: Bool

        /// Whether the answer `b` goes back to the previous question of the conversation.
        let goesBack: Bool

        /// Whether the options or the account request a sign-in without a user.
        let isMachine: Bool

        let isWorkload: Bool

        /// The account whose permissions the sign-in extends.
        let extended: Account?
    }

    private func plan(
        in context: CommandContext<App>, answering answers: LoginConversation<App>.Answers?
    ) async throws -> Plan {
        let extended = stepUp ? try await stepUpAccount(in: context) : nil
        var service = try service(in: context, answering: answers, extending: extended)
        let repeated = await repeatedMachine(in: context, answering: answers)
        let isMachine = machine.isGiven || repeated != nil
        let authority =
            isMachine && App.acceptsIssuer
            ? try context.authority(
                for: try machineService(from: service, repeating: repeated, in: context), timeout: .seconds(30))
            : try await authority(for: &service, in: context, answering: answers, extending: extended)
        let way = try isMachine ? .client : answers?.way ?? way(for: authority, of: service)
        try checkClientID(of: service, for: way)
        if way == .token, authorization.dpop == true {
            throw AccountError(
                .invalidArgument, "an existing token cannot be bound to a key", hint: "omit --dpop")
        }
        return Plan(
            service: service, authority: authority, way: way, asksForToken: answers?.way == .token,
            goesBack: answers != nil, isMachine: isMachine,
            isWorkload: machine.workload != nil || repeated?.credentials.machine?.workload != nil,
            extended: extended)
    }

    /// Signs in, and stores the account.
    private func perform(
        _ plan: Plan, in context: CommandContext<App>, _ question: ReplacementQuestion<App>
    ) async throws -> Account {
        let store = (replace ? context.store.replacingUnreadableArchive() : context.store)
            .confirmingReplacements { stored, new throws(AccountError) in try await question.decide(stored, new) }
        let authority = plan.authority
        do {
            return try await SignalGuard.shared.whileWaiting {
                switch plan.way {
                case .device: try await signInOnDevice(store, authority, question)
                case .browser:
                    try await registeringAgain(at: authority) {
                        try await signInWithBrowserOrDevice(store, authority, question)
                    }
                case .password: try await signInWithPassword(store, authority, goesBack: plan.goesBack)
                case .token: try await signInWithToken(store, authority, context.hint, asks: plan.asksForToken)
                case .client: try await signInAsClient(store, authority)
                }
            }
        } catch {
            let error = await advised(error, plan)
            let advice =
                "`\(context.hint.command("login", "--replace"))` replaces the archive; the other machines then need this machine's key"
            throw replace ? error : await context.adding(advice, to: error, about: store)
        }
    }

    private func report(
        _ account: Account, of plan: Plan, in session: SessionName, replaced: Account?, _ context: CommandContext<App>
    ) async throws {
        if options.json {
            var document = StateDocument(.verified(account), session: session)
            document.replaced = replaced.map(StateDocument.AccountPart.init)
            return try JSONDocument.print(document)
        }
        let place = account.issuer.map { " at \($0)" } ?? ""
        let name = session == .default ? "" : " (session \(session))"
        let client = account.isClient ? "the client " : ""
        let word = account.isNamedAfterAPI ? "to" : "as"
        Terminal.say(.success, "Signed in \(word) \(client)\(bold: account.shownName)\(place)\(name).")
        let advice = await plan.authority.refreshTokenAdvice(usesBrowser: plan.way == .browser)
        let hint = context.hint(for: session)
        let limit = StateText.limit(of: account, advice: advice, isToken: plan.way == .token, hint)
        if let limit { Terminal.say(.warning, StyledText(limit)) }
        if machine.clientSecretStdin, Environment.value(App.clientSecretVariable) == nil {
            let variable = App.clientSecretVariable
            Terminal.say("The client secret is not stored. Set \(variable) for commands that need a new token.")
        }
    }

    /// Returns the URLs of the APIs that the user signed in for. The metadata of an API may name a larger resource, such as
    /// its whole server.
    private func apis(of account: Account, _ plan: Plan) -> [String] {
        guard let url = plan.authority.namingAPI, !account.credentials.resources.isEmpty else { return [] }
        if let problem = plan.authority.audienceProblem(of: account.credentials) {
            Terminal.say("note: no rule was created, so other programs get no token there: \(problem)")
            return plan.service.resources
        }
        return [url] + plan.service.resources
    }

    private func service(
        in context: CommandContext<App>, answering answers: LoginConversation<App>.Answers?, extending account: Account?
    ) throws -> AccountService {
        var issuer = issuer
        issuer.issuer = answers?.issuer ?? issuer.issuer
        issuer.clientID = answers?.clientID ?? issuer.clientID
        var service = try context.service(
            named: answers?.serviceName ?? serviceName, at: answers?.url ?? url, issuer, request, authorization)
        service.username = username
        service.clientSecret = answers?.clientSecret
        service.registersAgain = register
        if let account {
            try addEarlierScopes(of: account, to: &service, in: context)
            if account.credentials.proofKey != nil { service.bindsTokens = authorization.dpop ?? true }
        }
        return service
    }

    /// Returns the authority of a service. If an API names the service, this method finds it, and adds the scopes that
    /// the API requires to `service`.
    private func authority(
        for service: inout AccountService, in context: CommandContext<App>,
        answering answers: LoginConversation<App>.Answers?, extending account: Account?
    ) async throws -> any ServiceAuthority {
        var authority = try context.authority(for: service, timeout: .seconds(30))
        if authority.namingAPI != nil {
            let isChosen = service.issuer != nil
            if !isChosen, let server = answers?.server {
                authority = authority.choosing(issuer: server)
            } else if !isChosen {
                // A remembered client ID is only for the service that the user gave it for.
                let isRemembered = (answers?.clientID ?? issuer.clientID) == nil && service.clientID != nil
                let expected = isRemembered ? try context.preferences.service(of: context.session)?.issuer : nil
                authority = try await choosingServer(of: authority, expecting: expected, in: context)
            }
            if let clientID = await defaultClientID(at: authority, for: service) {
                service.clientID = clientID
                // Without several servers, the URL itself may be the server.
                let hasChoice = try await authority.authorizationServers().count > 1
                let server = answers?.server ?? (hasChoice ? authority.issuer : nil)
                authority = try context.authority(for: service, timeout: .seconds(30))
                if !isChosen, let server { authority = authority.choosing(issuer: server) }
            }
            guard let account else { return authority }
            return try await extended(authority, for: account, adding: &service, in: context)
        }
        guard let account else { return authority }
        return try context.authority(for: widened(service, by: account), timeout: .seconds(30))
    }

    /// Returns the default client ID for a URL that is the service itself, if this service registers no tools; `nil` if the
    /// sign-in needs none. The service of an API, and a known service, require a registered client.
    private func defaultClientID(
        at authority: any ServiceAuthority, for service: AccountService
    ) async -> String? {
        guard let clientID = App.defaultClientID, service.clientID == nil, service.clientMetadataURL == nil,
            !ways.withToken, let url = service.url
        else { return nil }
        do {
            guard try await authority.requiresClientID() else { return nil }
        } catch {
            // The sign-in fails for the same reason, and reports it.
            return nil
        }
        guard let issuer = authority.issuer, issuer.withoutEndingSlash == url.withoutEndingSlash,
            !App.services.contains(where: { $0.issuer == issuer })
        else { return nil }
        return clientID
    }

    /// Says which archive or account the sign-in replaced.
    ///
    /// - Parameter earlier: The account for another API that the sign-in replaced; `nil` if there was none.
    private func reportReplacement(
        by account: Account, in session: SessionName, of earlier: Account?, _ question: ReplacementQuestion<App>,
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
        if let earlier, !question.isAsked {
            let api = earlier.credentials.resources.first.map { " for \($0.shown)" } ?? ""
            Terminal.say(
                "note: this sign-in replaces the one\(api) in session \(session), and other programs no longer get a token "
                    + "there. To keep both, sign in with `\(context.tool) login URL --session NAME`.")
        } else if let replaced = question.replaced, !question.isAsked {
            Terminal.say(
                "note: \(account.shownName) replaces \(replaced.shownNameAndPlace) in session \(session). To keep both, sign in with "
                    + "`\(context.tool) login --session NAME`.")
        }
    }

    /// Throws an error if a known service requires a client ID, and there is none.
    private func checkClientID(of service: AccountService, for way: SignInWay) throws(AccountError) {
        guard way != .token, service.clientID == nil,
            let known = App.service(named: service.name)
        else { return }
        throw AccountError(
            .misconfigured, "\(known.title) requires a client ID",
            hint: "register an app at \(known.registrationPage), and pass its client ID with --client-id")
    }

    /// Adds a hint to an error if the client ID, or the client secret from the environment, may be wrong.
    private func advised(_ error: any Error, _ plan: Plan) async -> any Error {
        let variable = App.clientSecretVariable
        guard var advised = error as? AccountError else { return error }
        if case .oauthError(let code, let description)? = advised.requestFailure?.failureOfRequest,
            let advice = SignInAdvice(code, description: description, way: plan.way),
            !plan.isMachine || ["invalid_scope", "invalid_target"].contains(code)
        {
            advised.hint = advice.hint
            let scopes = code == "invalid_scope" ? await plan.authority.signInScopes() : []
            if !scopes.isEmpty, !plan.isMachine {
                advised.hint? += ". This sign-in requested \(scopes.joined(separator: ", ").shown)"
            }
            return advised
        }
        // An endpoint that does not explain itself may be missing, or may not be for this client.
        if advised.code == .serviceUnavailable, advised.requestFailure?.mayBeWayOfSignIn == true,
            let other = [SignInWay.device: "--web", .browser: "--device"][plan.way], App.offers([.browser, .device])
        {
            advised.hint = "nothing was changed; try again, or sign in another way with \(other)"
        }
        guard advised.code == .misconfigured, advised.hint == nil else { return advised }
        if plan.isWorkload {
            // Other errors of this code contain their advice.
            guard case .oauthError? = advised.requestFailure else { return advised }
            advised.hint =
                "check that the service trusts the issuer, the subject and the audience of the assertion. The audience "
                + "must be the address of the service"
        } else if plan.isMachine {
            advised.hint =
                machine.clientKey.map { "check --client-id, and that the service knows the public key of \($0)" }
                ?? "check --client-id, and the client secret in \(variable) or from --client-secret-stdin"
        } else if plan.service.clientSecret != nil {
            advised.hint = "check the client ID and the client secret"
        } else if Environment.value(variable) != nil {
            advised.hint = "check the client secret in \(variable), or unset \(variable) if the client has no secret"
        } else if case .oauthError("invalid_client", _)? = advised.requestFailure {
            advised.hint = "check --client-id; if the client has a secret, set \(variable)"
        }
        if advised.hint == nil, case .oauthError? = advised.requestFailure {
            advised.hint =
                "compare --client-id, --redirect-uri and --scope with the registration of the client at the service"
        }
        return advised
    }

    /// The way that an option chooses; `nil` without such an option.
    var givenWay: SignInWay? {
        if ways.device { return .device }
        if ways.web || ways.paste { return .browser }
        if ways.withToken { return .token }
        return ways.usesPassword || username != nil ? .password : nil
    }

    private func way(
        for authority: any ServiceAuthority, of service: AccountService
    ) throws(AccountError) -> SignInWay {
        if let givenWay { return givenWay }
        // An app that signs in as itself needs no user, and so no terminal.
        if !App.acceptsIssuer, !App.offers([.device, .browser, .password, .token]), App.offers([.client]) {
            return .client
        }
        guard Terminal.isTerminal(.input) else {
            let known = App.service(named: service.name)
            let ways: [(way: SignInWay, option: String, isSupported: Bool)] = [
                (.device, "--device", true), (.browser, "--web", known?.supportsBrowser != false),
                (.token, "--with-token", true), (.password, "--password-stdin and --username NAME", known == nil),
                (.client, "`\(CommandLine.toolName) login machine`", App.acceptsIssuer && known == nil),
            ]
            let offered = ways.filter { $0.isSupported && App.offers([$0.way]) }.map(\.option)
            let client =
                known != nil && service.clientID == nil
                ? ". All but --with-token also require --client-id, with the client ID of a registered app" : ""
            throw AccountError(
                .invalidArgument, "there is no terminal for a prompt",
                hint: "choose how to sign in with \(offered.joined(separator: ", or "))\(client)")
        }
        if authority.browserWay != nil, ExternalProgram.hasBrowser { return .browser }
        if authority.deviceWay != nil { return .device }
        return authority.passwordWay != nil ? .password : .token
    }
}

extension AuthorityError {
    /// Whether an endpoint of a sign-in responded, but neither with an OAuth error nor because it is unavailable.
    fileprivate var mayBeWayOfSignIn: Bool {
        switch failureOfRequest {
        case .refused, .unauthorized, .forbidden, .unclear: true
        default: false
        }
    }
}
