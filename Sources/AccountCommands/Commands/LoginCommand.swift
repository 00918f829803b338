import AccountKit
import ArgumentParser

struct LoginCommand<App: AccountApplication>: AccountSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "login", abstract: "Sign in.",
            discussion: """
                \(App.offers([.browser, .device]) ? defaultWay : "")A secret is never taken from an argument, where other users \
                of the machine could see it.

                \(examples.map { "  \(CommandLine.toolName) login\($0)" }.joined(separator: "\n"))
                """ + (App.signInHelp.isEmpty ? "" : "\n\n" + App.signInHelp))
    }

    private static var defaultWay: String {
        """
        On a terminal, and without an option that says how, you sign in with the browser of this machine, or, where there is \
        none, by a code that you enter on another device.\u{20}
        """
    }

    private static var examples: [String] {
        let issuer = App.acceptsIssuer ? " --issuer https://auth.example.com --client-id my-tool" : ""
        return [issuer] + (App.offers([.token]) ? [issuer + " --with-token < token.txt"] : [])
    }

    @Option(
        name: .customLong("service"),
        help: ArgumentHelp(
            "A service that is known by name, such as github; with --issuer, a copy of it on a host of its own.",
            valueName: "name", visibility: App.acceptsIssuer ? .default : .hidden))
    var serviceName: String?

    @OptionGroup var issuer: IssuerOptions<App>

    @OptionGroup var request: RequestOptions<App>

    @Flag(help: ArgumentHelp("Show a code to enter on another device.", visibility: App.visibility(of: .device)))
    var device = false

    @Flag(help: ArgumentHelp("Sign in with the browser of this machine.", visibility: App.visibility(of: .browser)))
    var web = false

    @Flag(
        help: ArgumentHelp(
            "Sign in with a browser on another machine: paste the address that it ends on.",
            visibility: App.visibility(of: .browser)))
    var paste = false

    @Flag(
        help: ArgumentHelp(
            "Sign in with a user name and a password, asked for on the terminal.",
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
            "The user name, for a password, or for a service that does not say who signed in.",
            visibility: App.acceptsIssuer ? .default : App.visibility(of: .password)))
    var username: String?

    @Flag(
        inversion: .prefixedNo,
        help: ArgumentHelp(
            "Show the address of --device as a QR code too, if qrencode is installed.",
            visibility: App.visibility(of: .device)))
    var qr = true

    @Flag(
        help: """
            Replace an archive in a shared store that does not open here. The other machines then need this machine's key, and \
            the tokens in the archive stay valid at the service.
            """)
    var replace = false

    @OptionGroup var options: CommonOptions

    func validate() throws {
        let ways = [device, web || paste, password || passwordStdin, withToken].filter { $0 }.count
        if ways > 1 { throw ValidationError("choose one of --device, --web, --password and --with-token") }
        if username != nil, withToken {
            throw ValidationError("--username does not go with --with-token: the service says whose the token is")
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
        // Later this could end the new sign-in too, if it is the same user's.
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
                "`\(context.hint.command("login", "--replace"))` replaces the archive: the other machines then need this machine's key"
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
            Terminal.say("note: you are signed in, but the settings were not saved for the next time (\(error))")
        }
        if let place = context.store.quarantinedArchive {
            Terminal.say("The archive that did not open was not lost: it is \(place) now.")
            if store.isShared {
                Terminal.say(
                    "Other machines need this machine's key now. The tokens in the old archive stay valid at the service "
                        + "until they expire.")
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
        // Of the sign-in that this one replaced, too.
        await context.deliverRevocations()
    }

    /// Other programs get the new sign-in's tokens at its service's hosts, unless they get another's there.
    private func makeRules(
        for service: AccountService, in session: SessionName, _ context: CommandContext<App>
    ) async throws {
        // A URL that the app has wrong is no rule.
        let urls = App.tokenURLs(of: service).compactMap { try? RuleURL($0) }
        guard !urls.isEmpty else { return }
        let others = try await context.preferences.changeRules { rules in
            urls.compactMap { rules.add(unlessRuled: Rule(url: $0, session: session)) }
        }
        guard let other = others.first else { return }
        Terminal.say(
            "note: git and other programs go on using session \(other.session) at \(other.url.host): `\(context.tool) rule "
                + "add \(other.url.origin) --session \(session)` changes that, for a directory only with --directory."
        )
    }

    /// Says that a client secret from the environment, or its absence, may be why the service refused the client.
    private func sayClientSecret(after error: any Error) {
        let variable = App.environmentPrefix + "_CLIENT_SECRET"
        guard let error = error as? AccountError, error.code == .misconfigured else { return }
        if Environment.value(variable) != nil {
            Terminal.say(
                "note: \(variable) is set, and is this program's client secret at the service: unset it if there is none."
            )
        } else if case .oauthError(.invalidClient, _)? = error.requestFailure {
            Terminal.say("note: if the client has a secret at the service, set \(variable); else check --client-id.")
        }
    }

    /// As the options say; else, at a terminal, what suits the machine and the service.
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
                .invalidArgument, "there is no terminal to ask on: say how to sign in, with \(offered)")
        }
        if authority is any BrowserAuthority, ExternalProgram.hasBrowser { return .browser }
        if authority is any DeviceAuthority { return .device }
        return authority is any PasswordAuthority ? .password : .token
    }

    private func signInOnDevice(
        _ store: AccountStore, _ authority: any AccountAuthority, _ question: ReplacementQuestion<App>
    ) async throws -> Account {
        guard let authority = authority as? any DeviceAuthority else {
            throw AccountError(.invalidArgument, "this service has no sign-in on another device: omit --device")
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

    /// Where nobody asked for the browser, a service that does not offer it is signed in to on another device.
    private func signInWithBrowserOrDevice(
        _ store: AccountStore, _ authority: any AccountAuthority, _ question: ReplacementQuestion<App>
    ) async throws -> Account {
        guard let browserAuthority = authority as? any BrowserAuthority else {
            throw AccountError(.invalidArgument, "this service has no sign-in with a browser: omit --web")
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
                    "Sign in with your browser. If it does not open by itself, open this address:\n\n    \(url)\n\n"
                        + "Waiting up to \(signIn.lifetime.text); press Ctrl-C to cancel.")
                if App.acceptsIssuer {
                    reminder = Task {
                        try await Task.sleep(for: .seconds(30))
                        Terminal.say(
                            "Still waiting for the browser. If its page shows an error, press Ctrl-C, and check --client-id and "
                                + "--redirect-uri: they must be registered at the service exactly as given.")
                    }
                }
                do {
                    let written = try await RedirectPage.write(to: url, hiding: App.secretVariables)
                    page = written
                    // Not awaited: a browser that was not running may stay in the foreground until it is closed.
                    Task { await ExternalProgram.openBrowser(written.url, hiding: App.secretVariables) }
                } catch {
                    Terminal.say("note: the browser is not opened by itself (\(error)).")
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
            "Open this address in a browser, on whichever machine:\n\n    \(signIn.url)\n\n"
                + "After the sign-in the browser ends on an address of its own machine, where it may find nothing. Copy that "
                + "address whole, and paste it here. Press Ctrl-C to cancel.")
        while true {
            guard let line = try Terminal.readLine(within: signIn.lifetime) else {
                throw AccountError(.invalidArgument, "no address was entered")
            }
            do {
                return try signIn.receive(line)
            } catch {
                // Only a person can try again.
                guard Terminal.isTerminal(.input) else { throw error }
                Terminal.say("\(error)")
            }
        }
    }

    private func signInWithToken(
        _ store: AccountStore, _ authority: any AccountAuthority, _ hint: CommandHint
    ) async throws -> Account {
        guard let authority = authority as? any TokenAuthority else {
            throw AccountError(.invalidArgument, "this service cannot tell whose a token is: omit --with-token")
        }
        if Terminal.isTerminal(.input) {
            throw AccountError(
                .invalidArgument,
                "--with-token reads the token from standard input, which is a terminal here: use "
                    + "`\(hint.command("login", "--with-token < FILE"))`, or pipe it in from your password manager"
            )
        }
        return try await store.signIn(with: authority) {
            guard let token = try Terminal.readSecretLine() else {
                throw AccountError(.invalidArgument, "there is no token on standard input: its first line is empty")
            }
            return token
        }
    }

    private func signInWithPassword(
        _ store: AccountStore, _ authority: any AccountAuthority
    ) async throws -> Account {
        guard let authority = authority as? any PasswordAuthority else {
            throw AccountError(.invalidArgument, "this service takes no password: omit --password")
        }
        let canPrompt = Terminal.isTerminal(.input)
        guard canPrompt || passwordStdin && username != nil else {
            throw AccountError(
                .invalidArgument,
                "there is no terminal to ask on: add --password-stdin and --username NAME"
                    + (App.offers([.token]) ? ", or --with-token" : ""))
        }
        // Inside the sign-in, so that nobody is asked for a password that could not be used.
        return try await store.signIn(with: authority) {
            let username = try username ?? Terminal.prompt("User name: ")
            let password: Secret
            if passwordStdin {
                guard let line = try Terminal.readSecretLine() else {
                    throw AccountError(
                        .invalidArgument, "there is no password on standard input: its first line is empty")
                }
                password = line
            } else {
                password = try Terminal.promptForSecret("Password for \(username): ")
            }
            return (username, password)
        }
    }
}
