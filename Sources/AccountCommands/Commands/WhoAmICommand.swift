import AccountKit
import ArgumentParser

/// `whoami`: the user's name, after the start-up check.
struct WhoAmICommand<App: AccountApplication>: AccountSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "whoami", abstract: "Print who is signed in.",
            discussion: """
                Prints the bare user name on standard output, and explanations on standard error. The service is asked \
                unless it confirmed the account less than --max-age seconds ago. Being offline is no failure: the name is \
                printed, and the exit code is 0.
                """)
    }

    @Flag(help: "Do not touch the network.")
    var offline = false

    @Flag(help: "Ask the service in any case, and fail (69) if it gives no verdict.")
    var verify = false

    @Option(
        help: ArgumentHelp("For how long a confirmation of the service holds; 0 always asks.", valueName: "seconds"))
    var maxAge = 900.0

    @OptionGroup var options: CommonOptions

    func validate() throws {
        if offline, verify { throw ValidationError("--offline and --verify exclude each other") }
        if maxAge < 0 || !maxAge.isFinite { throw ValidationError("--max-age takes a number of seconds, 0 or more") }
    }

    func run(in context: CommandContext<App>) async throws {
        if let token = context.environmentToken { return try await identify(token, context) }
        var state = await context.store.load()
        let confirmedBefore = state.account?.verifiedAt
        if !offline, let account = state.account {
            let authority = try await context.authority(of: account, timeout: .seconds(5))
            let policy = verify ? CheckPolicy.always : CheckPolicy(maximumAge: .seconds(min(maxAge, 1e12)))
            state = await Waiting.shown(for: account.issuer ?? "the service", upTo: .seconds(5)) {
                await context.store.checkSession(with: authority, policy: policy, timeout: .seconds(5))
            }
        }
        try present(StateDocument(state, session: context.session), state, context)
        // Only where the service has just answered: otherwise nothing must touch the network.
        if case .verified(let account) = state, account.verifiedAt != confirmedBefore {
            await context.deliverRevocations(to: account.issuer)
        }
        let code = ExitStatus.code(of: state, verdictNeeded: verify)
        if code != .success { throw code }
    }

    private func present(_ document: StateDocument, _ state: SessionState, _ context: CommandContext<App>) throws {
        if options.json {
            try JSONDocument.print(document)
        } else if let account = state.account {
            try Terminal.printLine(account.shownName)
        }
        // Asked not to check, it need not be said that nothing was checked.
        if offline, case .unverified = state { return }
        if let text = StateText.explanation(of: state, tool: context.tool) { context.say(text) }
    }

    /// Says whose a token from the environment is, which only the service knows.
    private func identify(_ token: Secret, _ context: CommandContext<App>) async throws {
        let source = CommandContext<App>.tokenVariable
        guard !offline else {
            throw AccountError(
                .serviceUnavailable, "only the service knows whose the token in \(source) is: omit --offline")
        }
        let service = try await context.rememberedService()
        guard let authority = try context.authority(for: service, timeout: .seconds(5)) as? any TokenAuthority else {
            throw AccountError(
                .misconfigured, "this service cannot tell whose the token in \(source) is: unset \(source)")
        }
        let account: Account
        do {
            account = try await authority.signIn(token: token)
        } catch {
            throw AccountError(token: AuthorityError(error), from: source)
        }
        var document = StateDocument(.verified(account), session: context.session)
        document.source = source
        try present(document, .verified(account), context)
        if !options.json { context.say("This is the user of \(source), not of the archive.") }
    }
}

extension AccountError {
    /// Why it is not known whose a token is.
    fileprivate init(token failure: AuthorityError, from source: String) {
        switch SessionDecision.afterSignIn(failure) {
        case .refused(let detail):
            self.init(
                .signInRefused,
                "the service does not take the token in \(source) (\(detail)): set another one, or unset \(source)")
        case .unclear(let reason):
            self.init(
                reason.code == .misconfigured ? .misconfigured : .serviceUnavailable,
                "the service did not say whose the token in \(source) is (\(reason))")
        case .pollAgain, .startOver:
            self.init(.serviceUnavailable, "the service did not say whose the token in \(source) is")
        }
    }
}
