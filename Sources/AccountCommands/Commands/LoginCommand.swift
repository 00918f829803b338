import AccountKit
import AccountSupport
import ArgumentParser

struct LoginCommand<App: AccountApplication>: AccountSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "login", abstract: "Sign in.",
            discussion: """
                \(App.offers([.browser, .device]) ? defaultWay : "")Secrets are never accepted as arguments, which \
                other users of the machine can see.

                \(examples.map { "  \(CommandLine.toolName) login\($0)" }.joined(separator: "\n"))
                """ + (App.signInHelp.isEmpty ? "" : "\n\n" + App.signInHelp))
    }

    private static var defaultWay: String {
        """
        On a terminal, `login` opens your browser by default. If there is none, it shows a code to enter on another device.\u{20}
        """
    }

    private static var examples: [String] {
        let issuer = App.acceptsIssuer ? " --issuer https://auth.example.com --client-id my-tool" : ""
        return [issuer] + (App.offers([.token]) ? [issuer + " --with-token < token.txt"] : [])
    }

    @Option(
        name: .customLong("service"),
        help: ArgumentHelp(
            "Known service, such as github; with --issuer, a self-hosted instance of it.",
            valueName: "name", visibility: App.acceptsIssuer ? .default : .hidden))
    var serviceName: String?

    @OptionGroup var issuer: IssuerOptions<App>

    @OptionGroup var request: RequestOptions<App>

    @Flag(help: ArgumentHelp("Show a code to enter on another device.", visibility: App.visibility(of: .device)))
    var device = false

    @Flag(help: ArgumentHelp("Sign in with the browser on this machine.", visibility: App.visibility(of: .browser)))
    var web = false

    @Flag(
        help: ArgumentHelp(
            "Sign in with a browser on another machine, and paste its final address here.",
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

    @Flag(
        inversion: .prefixedNo,
        help: ArgumentHelp(
            "With --device, also show the address as a QR code, if qrencode is installed.",
            visibility: App.visibility(of: .device)))
    var qr = true

    @Flag(
        help: """
            Replace an archive in a shared store that cannot be opened here. The other machines then need this \
            machine's key, and the tokens in the archive stay valid at the service.
            """)
    var replace = false

    @OptionGroup var options: CommonOptions

    func validate() throws {
        let ways = [device, web || paste, password || passwordStdin, withToken].filter { $0 }.count
        if ways > 1 { throw ValidationError("choose one of --device, --web, --password and --with-token") }
        if username != nil, withToken {
            throw ValidationError("--with-token takes no --username: the service identifies the user")
        }
        if request.redirectURI != nil, device || password || passwordStdin || withToken {
            throw ValidationError("--redirect-uri is for a sign-in with a browser: add --web or --paste")
        }
    }

    func run(in context: CommandContext<App>) async throws {
        try context.refuseEnvironmentToken(to: "sign in")
        var service = try context.service(named: serviceName, issuer, request)
        service.username = username
        let authority = try context.authority(for: service, timeout: .seconds(30))
        let way = try way(for: authority)
        let store = replace ? context.store.replacingUnreadableArchive() : context.store
        // Deliver pending revocations first: later, they could end the new session if it has the same user.
        await context.deliverRevocations(to: authority.accountIssuer)
        let question = ReplacementQuestion(context)
        store.confirmReplacements { stored, new throws(AccountError) in try await question.decide(stored, new) }
        let account: Account
        do {
            account = try await SignalGuard.shared.whileWaiting {
                switch way {
                case .device: try await signInOnDevice(store, authority, question)
                case .browser: try await signInWithBrowserOrDevice(store, authority, question)
                case .password: try await signInWithPassword(store, authority)
                case .token: try await signInWithToken(store, authority, context.hint)
                }
            }
        } catch {
            sayClientSecret(after: error)
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
            try await makeRules(for: signedIn, in: session, context)
        } catch {
            Terminal.say("note: you are signed in, but the settings were not saved (\(error))")
        }
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
            let place = session == .default ? "" : " (session \(session))"
            Terminal.say("Signed in as \(account.shownNameAndPlace)\(place).")
            let advice = await (authority as? any RefreshTokenAdvisor)?.refreshTokenAdvice(usesBrowser: way == .browser)
            let limit = StateText.limit(of: account, advice: advice, isToken: way == .token, hint)
            if let limit { Terminal.say(limit) }
        }
        // Also deliver the revocation of the replaced session.
        await context.deliverRevocations()
    }

    /// Creates rules so that other programs get the new session's tokens at the hosts of its service, unless another
    /// session is already used there.
    private func makeRules(
        for service: AccountService, in session: SessionName, _ context: CommandContext<App>
    ) async throws {
        // Ignore an invalid URL of the app.
        let urls = App.tokenURLs(of: service).compactMap { try? RuleURL($0) }
        guard !urls.isEmpty else { return }
        let others = try await context.preferences.changeRules { rules in
            urls.compactMap { rules.add(unlessRuled: Rule(url: $0, session: session)) }
        }
        guard let other = others.first else { return }
        Terminal.say(
            "note: git and other programs still use session \(other.session) at \(other.url.host). To change this, "
                + "run `\(context.tool) rule add \(other.url.origin) --session \(session)`; with --directory, only for a directory."
        )
    }

    /// Notes that the client secret from the environment, or its absence, may be why the service rejected the client.
    private func sayClientSecret(after error: any Error) {
        let variable = App.environmentPrefix + "_CLIENT_SECRET"
        guard let error = error as? AccountError, error.code == .misconfigured else { return }
        if Environment.value(variable) != nil {
            Terminal.say(
                "note: \(variable) was sent as the client secret: unset it if the client has no secret."
            )
        } else if case .oauthError(.invalidClient, _)? = error.requestFailure {
            Terminal.say("note: if the client has a secret, set \(variable); otherwise check --client-id.")
        }
    }

    /// Returns the way that the options choose; otherwise, on a terminal, the way that suits the machine and the
    /// service.
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
                .invalidArgument, "there is no terminal for a prompt: choose how to sign in with \(offered)")
        }
        if authority is any BrowserAuthority, ExternalProgram.hasBrowser { return .browser }
        if authority is any DeviceAuthority { return .device }
        return authority is any PasswordAuthority ? .password : .token
    }

    private func signInOnDevice(
        _ store: AccountStore, _ authority: any AccountAuthority, _ question: ReplacementQuestion<App>
    ) async throws -> Account {
        guard let authority = authority as? any DeviceAuthority else {
            throw AccountError(.invalidArgument, "this service offers no sign-in on another device: omit --device")
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

    /// Signs in with the browser. If the user did not request the browser and the service does not support it, signs in
    /// on another device.
    private func signInWithBrowserOrDevice(
        _ store: AccountStore, _ authority: any AccountAuthority, _ question: ReplacementQuestion<App>
    ) async throws -> Account {
        guard let browserAuthority = authority as? any BrowserAuthority else {
            throw AccountError(.invalidArgument, "this service offers no sign-in with a browser: omit --web")
        }
        var isShown = false
        var page: RedirectPage?
        var reminder: Task<Void, any Error>?
        defer {
            page?.remove()
            reminder?.cancel()
        }
        do {
            return try await store.signIn(with: browserAuthority) { signIn in
                isShown = true
                if paste { return try receivePasted(signIn) }
                let url = signIn.url
                Terminal.say(
                    "Sign in with your browser. If it does not open automatically, open this address:\n\n    \(url)\n\n"
                        + "Waiting up to \(signIn.lifetime.text); press Ctrl-C to cancel.")
                if App.acceptsIssuer {
                    reminder = Task {
                        try await Task.sleep(for: .seconds(30))
                        Terminal.say(
                            "Still waiting for the browser. If it shows an error, press Ctrl-C, and check --client-id "
                                + "and --redirect-uri: they must match the registration at the service exactly.")
                    }
                }
                do {
                    let written = try await RedirectPage.write(to: url, hiding: App.secretVariables)
                    page = written
                    // Don't wait: a browser that was not running may stay in the foreground until it is closed.
                    Task { await ExternalProgram.openBrowser(written.url, hiding: App.secretVariables) }
                } catch {
                    Terminal.say("note: cannot open the browser automatically (\(error)).")
                }
            }
        } catch {
            let isFinal = error.code != .misconfigured || isShown || web || paste
            guard !isFinal, authority is any DeviceAuthority else { throw error }
            return try await signInOnDevice(store, authority, question)
        }
    }

    private func receivePasted(_ signIn: any BrowserSignIn) throws {
        Terminal.say(
            "Open this address in a browser on any machine:\n\n    \(signIn.url)\n\n"
                + "After the sign-in, the browser goes to an address on its own machine, and may show an error. "
                + "Copy that complete address, and paste it here. Press Ctrl-C to cancel.")
        while true {
            guard let line = try Terminal.readLine(within: signIn.lifetime) else {
                throw AccountError(.invalidArgument, "no address was entered")
            }
            do {
                return try signIn.receive(line)
            } catch {
                // Retrying makes sense only for a user at a terminal.
                guard Terminal.isTerminal(.input) else { throw error }
                Terminal.say("\(error)")
            }
        }
    }

    private func signInWithToken(
        _ store: AccountStore, _ authority: any AccountAuthority, _ hint: CommandHint
    ) async throws -> Account {
        guard let authority = authority as? any TokenAuthority else {
            throw AccountError(.invalidArgument, "this service cannot identify the user of a token: omit --with-token")
        }
        if Terminal.isTerminal(.input) {
            throw AccountError(
                .invalidArgument,
                "--with-token reads the token from standard input, which is a terminal here: use "
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
            throw AccountError(.invalidArgument, "this service does not accept passwords: omit --password")
        }
        let canPrompt = Terminal.isTerminal(.input)
        guard canPrompt || passwordStdin && username != nil else {
            throw AccountError(
                .invalidArgument,
                "there is no terminal for a prompt: add --password-stdin and --username NAME"
                    + (App.offers([.token]) ? ", or --with-token" : ""))
        }
        // Prompt inside the sign-in, so that the user is not asked for a password that could not be used.
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
