import AccountKit
import ArgumentParser

struct WhoAmICommand<App: AccountApplication>: AccountSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "whoami", _superCommandName: "account", abstract: "Print who is signed in.",
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

    /// Made by the parser.
    init() {}

    init(offline: Bool) {
        self.offline = offline
        verify = false
        maxAge = 900
        options = .none
    }

    func validate() throws {
        if offline, verify { throw ValidationError("--offline and --verify exclude each other") }
        if maxAge < 0 || !maxAge.isFinite { throw ValidationError("--max-age takes a number of seconds, 0 or more") }
    }

    func run(in context: CommandContext<App>) async throws {
        if App.environmentToken != nil { return try await identify(context) }
        var state = await context.store.load()
        let confirmedBefore = state.account?.verifiedAt
        if !offline, let account = state.account {
            let now = SystemWallClock().now
            if !verify, !account.isOver(at: now), account.isConfirmed(within: maxAge, of: now) {
                // The service need not be asked, so its authority is not created.
                state = .verified(account)
            } else {
                let authority = try context.authority(of: account, timeout: .seconds(5))
                state = await Waiting.shown(for: account.issuer ?? "the service", upTo: .seconds(5)) {
                    await context.store.checkSession(with: authority, timeout: .seconds(5))
                }
            }
        }
        // What cannot be read is not shown; that nobody is signed in is said all the same.
        let incoming = state.isSignedOut ? try? await context.archive.incomingMove() : nil
        var document = StateDocument(state, session: context.session)
        let isExpired = state.isExpired(at: SystemWallClock().now)
        if isExpired { document.reason = "expired" }
        try present(document, state, context, incoming: incoming)
        if !offline, case .unverified(let account, _) = state { await context.warnIfRenewalIsRefused(account) }
        // Only if the service has just answered: otherwise nothing must touch the network.
        if case .verified(let account) = state, account.verifiedAt != confirmedBefore {
            await context.deliverRevocations(to: account.issuer)
        }
        let code = isExpired && verify ? ExitCode(77) : state.exitCode(verdictNeeded: verify)
        if code != .success { throw code }
    }

    private func present(
        _ document: StateDocument, _ state: SessionState, _ context: CommandContext<App>, incoming: SessionMove? = nil
    ) throws {
        if options.json {
            try JSONDocument.print(document)
        } else if let account = state.account {
            try Terminal.printLine(account.shownName)
        }
        if let account = state.account, state.isExpired(at: SystemWallClock().now) {
            return Terminal.say(StateText.end(of: account, context.hint))
        }
        // With --offline it goes without saying that nothing was checked.
        if offline, case .unverified = state { return }
        if let text = StateText.explanation(of: state, context.hint) { Terminal.say(text) }
        if let incoming { Terminal.say(StateText.text(incoming: incoming, context.hint)) }
    }

    /// Only the service knows whose a token from the environment is.
    private func identify(_ context: CommandContext<App>) async throws {
        let source = App.tokenVariable
        guard !offline else {
            throw AccountError(
                .serviceUnavailable, "only the service knows whose the token in \(source) is: omit --offline")
        }
        let authority = try context.authority(for: try context.rememberedService(), timeout: .seconds(5))
        let state = await context.store.checkSession(with: authority, timeout: nil)
        switch state {
        case .verified:
            var document = StateDocument(state, session: context.session)
            document.source = source
            try present(document, state, context)
            if !options.json { Terminal.say("This is the user of \(source), not of the archive.") }
        case .unverified(_, let reason):
            throw AccountError(
                reason.code == .misconfigured ? .misconfigured : .serviceUnavailable,
                "the service did not say whose the token in \(source) is (\(reason))")
        case .signedOut(let signOut):
            throw AccountError(
                .signInRefused,
                "the service does not take the token in \(source) (\(signOut.detail ?? "rejected")): set another one, or unset "
                    + source)
        case .unreadable(let error): throw error
        }
    }
}
