import AccountKit
import AccountSupport

/// Chooses the service and the way of a sign-in, from the options, the answers of the user, and the settings of the session.
struct SignInPlanner<App: AccountApplication> {
    let command: LoginCommand<App>
    let context: CommandContext<App>
    let answers: LoginConversation<App>.Answers?

    /// The time limit of a request of a sign-in.
    static var timeout: Duration { .seconds(30) }

    func plan() async throws -> SignInPlan {
        let extended = command.stepUp ? try await stepUpAccount() : nil
        var service = try service(extending: extended)
        let repeated = await repeatedMachine()
        let isMachine = command.machine.isGiven || repeated != nil
        let authority =
            isMachine && App.acceptsIssuer
            ? try authority(for: try machineService(from: service, repeating: repeated))
            : try await authority(for: &service, extending: extended)
        let way = try isMachine ? .client : answers?.way ?? way(for: authority, of: service)
        try checkClientID(of: service, for: way)
        if way == .token, command.authorization.dpop == true {
            throw AccountError(
                .invalidArgument, "an existing token cannot be bound to a key", hint: "omit --dpop")
        }
        return SignInPlan(
            service: service, authority: authority, way: way, asksForToken: answers?.way == .token,
            goesBack: answers != nil, isMachine: isMachine,
            isWorkload: command.machine.workload != nil || repeated?.credentials.machine?.workload != nil,
            extended: extended)
    }

    func authority(for service: AccountService) throws -> any ServiceAuthority {
        try context.authority(for: service, timeout: Self.timeout)
    }

    // MARK: The service

    /// Returns the authority of a service. If an API names the service, this method finds it, and adds the scopes that
    /// the API requires to `service`.
    private func authority(
        for service: inout AccountService, extending account: Account?
    ) async throws -> any ServiceAuthority {
        let authority = try authority(for: service)
        guard authority.namingAPI != nil else {
            return try account.map { try self.authority(for: widened(service, by: $0)) } ?? authority
        }
        let named = try await choosingService(of: authority, for: &service)
        guard let account else { return named }
        return try await extended(named, for: account, adding: &service)
    }

    /// Throws an error if a known service requires a client ID, and there is none.
    private func checkClientID(of service: AccountService, for way: SignInWay) throws(AccountError) {
        guard way != .token, service.clientID == nil, let known = App.service(named: service.name) else { return }
        throw AccountError(
            .misconfigured, "\(known.title) requires a client ID",
            hint: "register an app at \(known.registrationPage), and pass its client ID with --client-id")
    }

    // MARK: The way

    private func way(
        for authority: any ServiceAuthority, of service: AccountService
    ) throws(AccountError) -> SignInWay {
        if let way = command.givenWay { return way }
        // An app that signs in as itself needs no user, and so no terminal.
        if !App.acceptsIssuer, !App.offers([.device, .browser, .password, .token]), App.offers([.client]) {
            return .client
        }
        guard Terminal.isTerminal(.input) else { throw Self.noTerminal(for: service) }
        if authority.browserWay != nil, ExternalProgram.hasBrowser { return .browser }
        if authority.deviceWay != nil { return .device }
        return authority.passwordWay != nil ? .password : .token
    }

    /// The error without a terminal, with the options that choose a way.
    private static func noTerminal(for service: AccountService) -> AccountError {
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
        return AccountError(
            .invalidArgument, "there is no terminal for a prompt",
            hint: "choose how to sign in with \(offered.joined(separator: ", or "))\(client)")
    }
}
