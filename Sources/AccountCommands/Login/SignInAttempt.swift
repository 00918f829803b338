import AccountKit
import AccountSupport

/// A sign-in as its plan says, which stores the account.
struct SignInAttempt<App: AccountApplication> {
    let command: LoginCommand<App>
    let context: CommandContext<App>
    let plan: SignInPlan
    let store: AccountStore
    let question: ReplacementQuestion<App>

    init(
        _ command: LoginCommand<App>, _ plan: SignInPlan, _ question: ReplacementQuestion<App>,
        in context: CommandContext<App>
    ) {
        (self.command, self.context, self.plan, self.question) = (command, context, plan, question)
        store = (command.replace ? context.store.replacingUnreadableArchive() : context.store)
            .confirmingReplacements { stored, new throws(AccountError) in try await question.decide(stored, new) }
    }

    private var authority: any ServiceAuthority { plan.authority }

    /// Signs in, and returns the stored account.
    func account() async throws -> Account {
        do {
            return try await SignalGuard.shared.whileWaiting {
                switch plan.way {
                case .device: try await onDevice()
                case .browser: try await registeringAgain { try await withBrowserOrDevice() }
                case .password: try await withPassword()
                case .token: try await withToken()
                case .client: try await asClient()
                }
            }
        } catch {
            let error = await advised(error)
            let advice =
                "`\(context.hint.command("login", "--replace"))` replaces the archive; the other machines then need this machine's key"
            throw command.replace ? error : await context.adding(advice, to: error, about: store)
        }
    }

    /// Signs in again if the service rejects the stored registration of the tool, which is then registered again.
    private func registeringAgain(_ signIn: () async throws -> Account) async throws -> Account {
        do {
            return try await signIn()
        } catch {
            guard authority.hasRejectedRegistration else { throw error }
            Terminal.say("The service no longer knows the registration of this tool. Registering it again…")
            return try await signIn()
        }
    }

    // MARK: The ways

    func onDevice() async throws -> Account {
        guard let authority = authority.deviceWay else {
            throw AccountError(
                .invalidArgument, "this service offers no sign-in on another device", hint: "omit --device")
        }
        var countdown: Countdown?
        defer { countdown?.stop() }
        return try await store.signIn(with: authority) { authorization in
            try await DevicePrompt.show(
                authorization, withQRCode: command.ways.qr, asJSON: context.options.json)
            let started = Countdown(from: authorization.lifetime)
            countdown = started
            question.beforeAsking { started?.stop() }
        }
    }

    private func asClient() async throws -> Account {
        guard let authority = authority.clientWay else {
            throw AccountError(
                .invalidArgument, "this service offers no sign-in without a user",
                hint: "add --issuer URL, with the address of the authorization server")
        }
        return try await store.signIn(asClientWith: authority)
    }

    private func withToken() async throws -> Account {
        guard let authority = authority.tokenWay else {
            throw AccountError(
                .invalidArgument, "this service cannot identify the user of a token", hint: "omit --with-token")
        }
        if plan.asksForToken {
            return try await store.signIn(with: authority) {
                try LoginConversation<App>.secret("Access token: ").trimmed
            }
        }
        let hint = command.tokenAdvice(context.hint)
        if Terminal.isTerminal(.input) {
            throw AccountError(
                .invalidArgument,
                "--with-token reads the token from standard input, which is a terminal here", hint: hint)
        }
        return try await store.signIn(with: authority) {
            guard let token = try Terminal.readSecretLine(of: .token) else {
                throw AccountError(.invalidArgument, "no token on standard input: it is empty", hint: hint)
            }
            return token
        }
    }

    private func withPassword() async throws -> Account {
        guard let authority = authority.passwordWay else {
            throw AccountError(.invalidArgument, "this service does not accept passwords", hint: "omit --password")
        }
        let (readsInput, username) = (command.ways.passwordStdin, command.username)
        guard Terminal.isTerminal(.input) || readsInput && username != nil else {
            let missing = [readsInput ? nil : "--password-stdin", username == nil ? "--username NAME" : nil]
            throw AccountError(
                .invalidArgument, "there is no terminal for a prompt",
                hint: "add " + missing.compactMap(\.self).joined(separator: " and "))
        }
        var attempt = 1
        while true {
            do {
                // Prompt inside the sign-in: if it fails before it needs the password, the user is not asked for one.
                return try await store.signIn(with: authority) { try enteredPassword() }
            } catch {
                guard error.isWrongPassword, !readsInput, attempt < Self.passwordAttempts else { throw error }
                Terminal.say(.failure, "Wrong user name or password (attempt \(attempt) of \(Self.passwordAttempts)).")
                attempt += 1
            }
        }
    }

    private static var passwordAttempts: Int { 3 }

    private func enteredPassword() throws -> (username: String, password: Secret) {
        let username = try command.username ?? Terminal.prompt("User name: ")
        if plan.goesBack, command.username == nil, username == "b" { throw StepBack.error }
        guard command.ways.passwordStdin else {
            let ask = plan.goesBack ? LoginConversation<App>.secret : Terminal.promptForSecret
            return (username, try ask("Password for \(username): "))
        }
        guard let password = try Terminal.readSecretLine(of: .password) else {
            throw AccountError(.invalidArgument, "no password on standard input: the first line is empty")
        }
        return (username, password)
    }
}

extension AccountError {
    /// Whether the service refused the user name or the password.
    fileprivate var isWrongPassword: Bool {
        switch requestFailure?.failureOfRequest {
        case .oauthError("invalid_grant", _)?, .unauthorized?: code == .signInRefused
        default: false
        }
    }
}
