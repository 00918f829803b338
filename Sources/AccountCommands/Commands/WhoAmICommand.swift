import AccountKit
import ArgumentParser

struct WhoAmICommand<App: AccountApplication>: AccountSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "whoami", _superCommandName: "account", abstract: "Print who is signed in.",
            discussion: """
                Prints only the user name on standard output, and explanations on standard error. The command asks the \
                service, unless the service confirmed the account less than --max-age seconds ago, or the session \
                belongs to a client whose token is valid. Being offline is \
                not an error: the command prints the name and exits with 0.

                  \(CommandLine.toolName) whoami
                  \(CommandLine.toolName) whoami --verify --json
                """)
    }

    @Flag(help: "Do not use the network.")
    var offline = false

    @Flag(help: "Always ask the service, and exit with 69 if the service neither confirms nor rejects the account.")
    var verify = false

    @Option(
        help: ArgumentHelp(
            "Skip the check if the account was verified within this many seconds (0: always check).",
            valueName: "seconds"))
    var maxAge = Seconds(900)

    @OptionGroup(title: "Common options") var options: CommonOptions

    init() {}

    init?(plain words: ArraySlice<String>) {
        (offline, verify, maxAge, options) = (false, false, Seconds(900), .none)
        var words = PlainArguments(words)
        while let option = words.nextOption() {
            let isRead =
                switch option {
                case "--offline": words.read(&offline)
                case "--verify": words.read(&verify)
                case "--max-age": words.read(&maxAge.count)
                default: options.read(option, from: &words)
                }
            guard isRead else { return nil }
        }
        guard words.isAtEnd, (try? validate()) != nil else { return nil }
    }

    func validate() throws {
        if offline, verify { throw ValidationError("--offline and --verify cannot be combined") }
        try Double?(maxAge.count).checkSeconds(of: "--max-age")
    }

    func run(in context: CommandContext<App>) async throws {
        if App.environmentToken != nil { return try await identify(context) }
        // The vault suffices to show the stored account.
        var state = offline ? await context.vault.read().state : await context.store.load()
        let confirmedBefore = state.account?.verifiedAt
        var requirement: AccessRequirement?
        if !offline, let account = state.account {
            let now = SystemWallClock().now
            if !verify, !account.isOver(at: now), account.isConfirmed(within: maxAge.count, of: now) {
                // Don't create the authority, because no request is necessary.
                state = .verified(account)
            } else {
                if verify { try context.checkOwnClient(of: account) }
                let authority = try context.authority(of: account, timeout: .seconds(5))
                state = await Waiting.shown(for: account.issuer ?? "the service", upTo: .seconds(5)) {
                    verify && account.credentials.machine != nil
                        ? await context.store.confirmMachine(with: authority, timeout: .seconds(5))
                        : await context.store.checkSession(with: authority, timeout: .seconds(5))
                }
                if case .verified = state { requirement = authority.unmetRequirement }
            }
        }
        var document = StateDocument(state, session: context.session)
        let isExpired = state.isExpired(at: SystemWallClock().now)
        if isExpired { document.reason = "expired" }
        if let requirement {
            document.reason = UnverifiedReason.Code.insufficientScope.rawValue
            document.message = "the API requires \(requirement)"
        }
        try present(document, state, context)
        if let requirement {
            Terminal.say(
                "note: the API accepts the token, but requires \(requirement). Sign in again with "
                    + "`\(context.hint.command("login", requirement.signInOptions))`.")
        }
        if !offline, case .unverified(let account, _) = state { await context.warnIfRenewalIsRefused(account) }
        // Deliver revocations only if the service has just responded. Otherwise, the command must not use the network.
        if case .verified(let account) = state, account.verifiedAt != confirmedBefore {
            await context.deliverRevocations(to: account.issuer)
        }
        let code = isExpired && verify ? ExitCode(77) : state.exitCode(verdictNeeded: verify)
        if code != .success { throw code }
    }

    private func present(
        _ document: StateDocument, _ state: SessionState, _ context: CommandContext<App>
    ) throws {
        if options.json {
            try JSONDocument.print(document)
        } else if let account = state.account {
            try Terminal.printLine(account.shownName)
            if let note = StateText.clientNote(account) { Terminal.say(note) }
        }
        if let account = state.account, state.isExpired(at: SystemWallClock().now) {
            return Terminal.say(StateText.end(of: account, context.hint))
        }
        // With --offline, don't explain why the account is unverified: the user requested no check.
        if offline, case .unverified = state { return }
        StateText.explain(state, context.hint)
    }

    /// Asks the service for the user of a token from the environment.
    private func identify(_ context: CommandContext<App>) async throws {
        let source = App.tokenVariable
        guard !offline else {
            throw AccountError(
                .serviceUnavailable, "only the service can identify the user of the token in \(source)",
                hint: "omit --offline"
            )
        }
        var service = try context.rememberedService()
        // An issuer that only an API named must not receive the token.
        if service.url != nil, service.isIssuerNamed != true { service.issuer = nil }
        let authority = try context.authority(for: service, timeout: .seconds(5))
        let state = await context.store.checkSession(with: authority, timeout: nil)
        switch state {
        case .verified:
            var document = StateDocument(state, session: context.session)
            document.source = source
            try present(document, state, context)
            if !options.json { Terminal.say("This user comes from \(source), not from the archive.") }
        case .unverified(_, let reason):
            throw AccountError(
                reason.code == .misconfigured ? .misconfigured : .serviceUnavailable,
                "the service did not identify the user of the token in \(source) (\(reason))")
        case .signedOut(let signOut):
            throw AccountError(
                .signInRefused,
                "the service rejected the token in \(source) (\(signOut.detail ?? "rejected"))",
                hint: "set another token, or unset \(source)")
        case .unreadable(let error): throw error
        }
    }
}
