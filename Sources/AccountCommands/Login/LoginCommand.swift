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

    func run(in context: CommandContext<App>) async throws {
        try context.refuseEnvironmentToken(to: "sign in")
        guard LoginConversation<App>.isPossible(options), url == nil, issuer.issuer == nil, !ways.withToken, !stepUp,
            !machine.isGiven
        else { return try await signIn(in: context, answering: nil) }
        try await LoginConversation(command: self, context: context).signIn { answers in
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

    /// The way that an option chooses; `nil` without such an option.
    var givenWay: SignInWay? {
        if ways.device { return .device }
        if ways.web || ways.paste { return .browser }
        if ways.withToken { return .token }
        return ways.usesPassword || username != nil ? .password : nil
    }

    func signIn(
        in context: CommandContext<App>, answering answers: LoginConversation<App>.Answers?
    ) async throws {
        var plan = try await SignInPlanner(command: self, context: context, answers: answers).plan()
        // The sign-in itself reports an archive that it cannot open.
        let before = try? await context.archive(of: context.session, isInteractive: false).load().account
        let place = try await SignInPlace.chosen(for: plan, besides: before, in: context)
        if case .session(let session) = place { return try await signIn(in: session, answering: answers) }
        try await plan.confirmService(in: context)
        // Deliver pending revocations first. If the new session has the same user, a later revocation could end it.
        await context.deliverRevocations(to: plan.authority.issuer)
        let question = ReplacementQuestion(context, extending: plan.extended, isAccepted: place == .replacing)
        let account = try await SignInAttempt(self, plan, question, in: context).account()
        plan.service.issuer = account.issuer ?? plan.service.issuer
        let session = question.otherSession ?? context.session
        let completion = SignInCompletion(
            command: self, context: context, plan: plan, account: account, session: session,
            earlier: session == context.session ? before : nil, question: question)
        await completion.saveSettings()
        if context.location != nil {
            await context.keepRegistration(of: account)
            // Until now, the authority has prevented the removal of the registration.
            withExtendedLifetime(plan.authority) {}
        }
        completion.reportReplacement(ofOtherAPI: place == .replacing)
        try await completion.report()
        await context.removeReplacedRegistration(before: account, at: plan.authority)
        // Also deliver the revocation of the replaced session.
        await context.deliverRevocations()
    }
}
