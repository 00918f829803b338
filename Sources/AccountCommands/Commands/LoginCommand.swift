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
        \(App.acceptsIssuer ? "On a terminal, `login` asks for the service and its client ID, unless options name them. " : "")By \
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

    @Flag(help: ArgumentHelp("Sign in with the browser on this machine.", visibility: App.visibility(of: .browser)))
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
        let ways = [device, web || paste, password || passwordStdin, withToken].filter { $0 }.count
        if ways > 1 { throw ValidationError("choose one of --device, --web, --password and --with-token") }
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
    var choosesWay: Bool { device || web || paste || password || passwordStdin || withToken || username != nil }

    private func signIn(
        in context: CommandContext<App>, answering answers: LoginConversation<App>.Answers?
    ) async throws {
        var issuer = issuer
        issuer.issuer = answers?.issuer ?? issuer.issuer
        issuer.clientID = answers?.clientID ?? issuer.clientID
        var service = try context.service(
            named: answers?.serviceName ?? serviceName, at: answers?.url ?? url, issuer, request)
        service.username = username
        service.clientSecret = answers?.clientSecret
        service.registersAgain = register
        let stepsUpFrom = stepUp ? try await stepUpAccount(in: context) : nil
        if let stepsUpFrom { try addEarlierScopes(of: stepsUpFrom, to: &service, in: context) }
        // A remembered client ID is only for the service that the user gave it for.
        let isRemembered = issuer.clientID == nil && service.clientID != nil
        let expected = isRemembered ? try context.preferences.service(of: context.session)?.issuer : nil
        var authority = try context.authority(for: service, timeout: .seconds(30))
        let isForAPI = authority is any DiscoveringAuthority
        if let discovering = authority as? any DiscoveringAuthority {
            authority = try await prepared(
                discovering, for: stepsUpFrom, expecting: expected, adding: &service.scopes, in: context)
        } else if let stepsUpFrom {
            authority = try context.authority(for: widened(service, by: stepsUpFrom), timeout: .seconds(30))
        }
        let way = try answers?.way ?? way(for: authority)
        try checkClientID(of: service, for: way)
        let store = replace ? context.store.replacingUnreadableArchive() : context.store
        // Deliver pending revocations first. If the new session has the same user, a later revocation could end it.
        await context.deliverRevocations(to: authority.accountIssuer)
        let question = ReplacementQuestion(context, extending: stepsUpFrom)
        store.confirmReplacements { stored, new throws(AccountError) in try await question.decide(stored, new) }
        let account: Account
        do {
            account = try await SignalGuard.shared.whileWaiting {
                switch way {
                case .device: try await signInOnDevice(store, authority, question)
                case .browser:
                    try await registeringAgain(at: authority) {
                        try await signInWithBrowserOrDevice(store, authority, question, context.hint)
                    }
                case .password: try await signInWithPassword(store, authority)
                case .token: try await signInWithToken(store, authority, context.hint, asks: answers?.way == .token)
                }
            }
        } catch {
            let error = advised(error, hasTypedSecret: service.clientSecret != nil)
            let advice =
                "`\(context.hint.command("login", "--replace"))` replaces the archive; the other machines then need this machine's key"
            throw replace ? error : await context.adding(advice, to: error, about: store)
        }
        var signedIn = service
        signedIn.issuer = account.issuer ?? service.issuer
        let session = question.otherSession ?? context.session
        let hint = context.hint(for: session)
        do {
            if App.acceptsIssuer { try await context.preferences.setService(signedIn, of: session) }
            let resources = isForAPI ? account.credentials.resources : []
            try await makeRules(for: signedIn, and: resources, in: session, context)
        } catch {
            Terminal.say("note: you are signed in, but the settings were not saved (\(error))")
        }
        if context.location != nil { await context.keepRegistration(of: account) }
        if let place = context.store.quarantinedArchive {
            Terminal.say("The archive that could not be opened was moved to \(place).")
            if store.isShared {
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
        if options.json {
            var document = StateDocument(.verified(account), session: session)
            document.replaced = question.replaced.map(StateDocument.AccountPart.init)
            try JSONDocument.print(document)
        } else {
            let place = account.issuer.map { " at \($0)" } ?? ""
            let name = session == .default ? "" : " (session \(session))"
            Terminal.say(.success, "Signed in as \(bold: account.shownName)\(place)\(name).")
            let advice = await (authority as? any RefreshTokenAdvisor)?.refreshTokenAdvice(usesBrowser: way == .browser)
            let limit = StateText.limit(of: account, advice: advice, isToken: way == .token, hint)
            if let limit { Terminal.say(.warning, StyledText(limit)) }
        }
        // Also deliver the revocation of the replaced session.
        await context.deliverRevocations()
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
                    "note: no rule was created for an API, so other programs get no token for it: \(shown) \(error.text)."
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
    private func advised(_ error: any Error, hasTypedSecret: Bool) -> any Error {
        let variable = App.environmentPrefix + "_CLIENT_SECRET"
        guard var advised = error as? AccountError, advised.code == .misconfigured, advised.hint == nil else {
            return error
        }
        if hasTypedSecret {
            advised.hint = "check the client ID and the client secret"
        } else if Environment.value(variable) != nil {
            advised.hint = "check the client secret in \(variable), or unset \(variable) if the client has no secret"
        } else if case .oauthError(.invalidClient, _)? = advised.requestFailure {
            advised.hint = "check --client-id; if the client has a secret, set \(variable)"
        }
        return advised
    }

    private func way(for authority: any AccountAuthority) throws(AccountError) -> SignInWay {
        if device { return .device }
        if web || paste { return .browser }
        if withToken { return .token }
        if password || passwordStdin || username != nil { return .password }
        guard Terminal.isTerminal(.input) else {
            let ways: [(SignInWay, String)] = [
                (.device, "--device"), (.browser, "--web"), (.token, "--with-token"),
                (.password, "--password-stdin and --username NAME"),
            ]
            let offered = ways.filter { App.offers([$0.0]) }.map(\.1).joined(separator: ", or ")
            throw AccountError(
                .invalidArgument, "there is no terminal for a prompt", hint: "choose how to sign in with \(offered)")
        }
        if authority is any BrowserAuthority, ExternalProgram.hasBrowser { return .browser }
        if authority is any DeviceAuthority { return .device }
        return authority is any PasswordAuthority ? .password : .token
    }

    private func signInOnDevice(
        _ store: AccountStore, _ authority: any AccountAuthority, _ question: ReplacementQuestion<App>
    ) async throws -> Account {
        guard let authority = authority as? any DeviceAuthority else {
            throw AccountError(
                .invalidArgument, "this service offers no sign-in on another device", hint: "omit --device")
        }
        var countdown: Countdown?
        defer { countdown?.stop() }
        return try await store.signIn(with: authority) { authorization in
            try await DevicePrompt.show(
                authorization, withQRCode: qr, asJSON: options.json, hiding: App.secretVariables)
            let started = Countdown(from: authorization.lifetime)
            countdown = started
            question.beforeAsking { started?.stop() }
        }
    }

    /// Signs in with the browser. Falls back to a sign-in on another device, unless the user requested the browser.
    private func signInWithBrowserOrDevice(
        _ store: AccountStore, _ authority: any AccountAuthority, _ question: ReplacementQuestion<App>,
        _ hint: CommandHint
    ) async throws -> Account {
        guard let browserAuthority = authority as? any BrowserAuthority else {
            throw AccountError(.invalidArgument, "this service offers no sign-in with a browser", hint: "omit --web")
        }
        var isShown = false
        var page: RedirectPage?
        var reminder: Task<Void, any Error>?
        var reader: Task<Void, Never>?
        defer {
            page?.remove()
            reminder?.cancel()
            reader?.cancel()
        }
        do {
            return try await store.signIn(with: browserAuthority) { signIn in
                isShown = true
                if paste { return try receivePasted(signIn) }
                let url = signIn.url
                let acceptsPasted = Terminal.isTerminal(.input)
                if options.json {
                    try BrowserPrompt.print(signIn)
                } else {
                    Terminal.say(
                        "Sign in with your browser. If the browser does not open automatically, open this address:\n\n    \(url)\n\n"
                            + (acceptsPasted ? Self.pasteText : "")
                            + "Waiting up to \(signIn.lifetime.text); press Ctrl-C to cancel.")
                }
                if acceptsPasted {
                    let started = Task { await Self.receiveLines(signIn) }
                    reader = started
                    question.beforeAsking { started.cancel() }
                }
                if App.acceptsIssuer {
                    reminder = Task {
                        try await Task.sleep(for: .seconds(30))
                        Terminal.say(reminderText(for: authority))
                    }
                }
                do {
                    let written = try await RedirectPage.write(to: url, hiding: App.secretVariables)
                    page = written
                    // Don't wait: a browser that was not running may stay in the foreground until the user closes it.
                    Task { await ExternalProgram.openBrowser(written.url, hiding: App.secretVariables) }
                } catch {
                    Terminal.say("note: cannot open the browser automatically (\(error)).")
                }
            }
        } catch {
            let isFinal = error.code != .misconfigured || isShown || web || paste
            guard !isFinal, authority is any DeviceAuthority else {
                throw Self.naming(hint, in: error, canUseDevice: authority is any DeviceAuthority)
            }
            do {
                return try await signInOnDevice(store, authority, question)
            } catch let second as AccountError where authority is any DiscoveringAuthority {
                // Report why the browser cannot be used. The second error only says that there is no other way to sign in.
                throw second.code == .misconfigured ? error : second
            }
        }
    }

    /// Names the commands for another attempt if the user did not finish in time.
    static func naming(_ hint: CommandHint, in error: AccountError, canUseDevice: Bool) -> AccountError {
        // If the service refused the sign-in, the cause of the error is its response.
        guard error.code == .signInRefused, error.requestFailure == nil else { return error }
        var error = error
        error.hint =
            "nothing was changed; run `\(hint.command("login"))` again"
            + (canUseDevice ? ", or `\(hint.command("login", "--device"))` to sign in on another device" : "")
        return error
    }

    private func reminderText(for authority: any AccountAuthority) -> String {
        let isRegistered = issuer.clientID == nil && authority is any DiscoveringAuthority
        return isRegistered
            ? "Still waiting for the browser. If it shows an error, the service may no longer know the registration of "
                + "this tool: press Ctrl-C, and add --register to register it again."
            : "Still waiting for the browser. If it shows an error, press Ctrl-C, and check --client-id and "
                + "--redirect-uri: they must match the registration at the service exactly."
    }

    private static var pasteText: String {
        "You can also open it in a browser on another machine. After the sign-in, that browser goes to an address on its own "
            + "machine, and may show an error: paste the complete address here.\n"
    }

    /// Passes pasted addresses to a sign-in that waits for the browser, until the sign-in accepts one.
    private static func receiveLines(_ signIn: any BrowserSignIn) async {
        // After an error or at the end of the input, the sign-in still waits for the browser.
        while let line = try? await Terminal.nextLine() {
            // The user may press Enter to see whether the command still runs.
            guard line.contains(where: { !$0.isWhitespace }) else { continue }
            do {
                return try signIn.receive(line)
            } catch {
                Terminal.say("\(error)")
            }
        }
    }

    private func receivePasted(_ signIn: any BrowserSignIn) throws {
        if options.json {
            try BrowserPrompt.print(signIn)
        } else {
            Terminal.say(
                "Open this address in a browser on any machine:\n\n    \(signIn.url)\n\n"
                    + "After the sign-in, the browser goes to an address on its own machine, and may show an error. "
                    + "Copy that complete address, and paste it here. Press Ctrl-C to cancel.")
        }
        while true {
            guard let line = try Terminal.readLine(within: signIn.lifetime) else {
                throw AccountError(.invalidArgument, "no address was entered")
            }
            do {
                return try signIn.receive(line)
            } catch {
                guard Terminal.isTerminal(.input) else { throw error }
                Terminal.say("\(error)")
            }
        }
    }

    private func signInWithToken(
        _ store: AccountStore, _ authority: any AccountAuthority, _ hint: CommandHint, asks: Bool
    ) async throws -> Account {
        guard let authority = authority as? any TokenAuthority else {
            throw AccountError(
                .invalidArgument, "this service cannot identify the user of a token", hint: "omit --with-token")
        }
        if asks { return try await store.signIn(with: authority) { try Terminal.promptForSecret("Access token: ") } }
        if Terminal.isTerminal(.input) {
            throw AccountError(
                .invalidArgument,
                "--with-token reads the token from standard input, which is a terminal here",
                hint: "use "
                    + "`\(hint.command("login", "--with-token < FILE"))`, or pipe the token from your password manager"
            )
        }
        return try await store.signIn(with: authority) {
            guard let token = try Terminal.readSecretLine() else {
                throw AccountError(.invalidArgument, "no token on standard input: the first line is empty")
            }
            return token
        }
    }

    private func signInWithPassword(
        _ store: AccountStore, _ authority: any AccountAuthority
    ) async throws -> Account {
        guard let authority = authority as? any PasswordAuthority else {
            throw AccountError(.invalidArgument, "this service does not accept passwords", hint: "omit --password")
        }
        let canPrompt = Terminal.isTerminal(.input)
        guard canPrompt || passwordStdin && username != nil else {
            throw AccountError(
                .invalidArgument,
                "there is no terminal for a prompt: add --password-stdin and --username NAME"
                    + (App.offers([.token]) ? ", or --with-token" : ""))
        }
        // Prompt inside the sign-in: if it fails before it needs the password, the user is not asked for one.
        return try await store.signIn(with: authority) {
            let username = try username ?? Terminal.prompt("User name: ")
            let password: Secret
            if passwordStdin {
                guard let line = try Terminal.readSecretLine() else {
                    throw AccountError(
                        .invalidArgument, "no password on standard input: the first line is empty")
                }
                password = line
            } else {
                password = try Terminal.promptForSecret("Password for \(username): ")
            }
            return (username, password)
        }
    }
}
