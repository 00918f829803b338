package import AccountKit
import AccountSupport
package import ArgumentParser
import Logging

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
package import Foundation
#endif

/// The container, session, stores and services that a command works with.
package struct CommandContext<App: AccountApplication>: Sendable {
    let options: CommonOptions
    package let container: AppContainer
    package let preferences: Preferences
    package let session: SessionName

    /// The location of sessions; `nil` for the files of the container.
    let location: StoreLocation?

    /// The store of the session. If the environment contains a token, the account in this store consists of that token.
    package let store: AccountStore

    /// The store of the archive, which ignores a token from the environment.
    package let archive: AccountStore
    private(set) var logger: Logger?

    package let hint: CommandHint

    /// If `isInteractive` is `false`, the stores do not ask for a passphrase.
    package init(_ options: CommonOptions, session: SessionName? = nil, isInteractive: Bool = true) throws {
        self.options = options
        container = try App.container()
        preferences = Preferences(container: container)
        self.session = try session ?? App.chosenSession(options.session.map(SessionName.init), preferences)
        // Omit the name of the default session if a command without --session uses that session. If the setting is
        // unreadable, include the name.
        let isChosen = session != nil || options.session != nil
        hint = CommandHint(
            session: self.session,
            isNamed: self.session != .default
                || isChosen && (try? App.chosenSession(nil, preferences)) != .default,
            store: options.store)
        location = App.storeLocation(options.store)
        if options.verbose {
            logger = Logger(label: CommandLine.programName) { StreamLogHandler.standardError(label: $0) }
            logger?.logLevel = .debug
        }
        store = try App.store(
            of: self.session, in: container, at: location, isInteractive: isInteractive, logger: logger)
        archive =
            App.environmentToken == nil
            ? store
            : try App.archiveStore(
                of: self.session, in: container, at: location, isInteractive: isInteractive, logger: logger)
        store.observeExchanges(SignalGuard.shared)
        archive.observeExchanges(SignalGuard.shared)
    }

    /// The session that the user chose with an option, a variable or the settings. A rule or `--all` may choose another
    /// one. If the settings are unreadable, this is `nil`, and no session gets the client secret.
    private var chosenSession: SessionName? {
        try? App.chosenSession(options.session.map(SessionName.init), preferences)
    }

    /// Returns the client secret in the environment, which belongs to one client at one service: only the session that the
    /// user chose may use it.
    package func givenClientSecret(for session: SessionName) -> Secret? {
        session == chosenSession ? Environment.value(App.clientSecretVariable).map { Secret($0) } : nil
    }

    /// Whether a session of a client without a user cannot be renewed or revoked, because the secret is missing here.
    package func lacksClientSecret(for account: Account, in session: SessionName) -> Bool {
        account.credentials.machine?.needsSecret == true && App.acceptsIssuer && givenClientSecret(for: session) == nil
    }

    /// Adds the variable to an error, if the client secret of the session is missing or wrong.
    fileprivate func namingClientSecret(_ error: any Error) -> any Error {
        guard var error = error as? AccountError, error.code == .misconfigured, error.hint == nil,
            let account = archive.account, let machine = account.credentials.machine, App.acceptsIssuer
        else { return error }
        if let key = machine.key {
            if error.description.contains(OAuthErrorCode.invalidClient.rawValue) {
                error.hint = "check that the service knows the public key of \(key.path)"
            }
            return error
        }
        guard machine.needsSecret, !error.description.contains(MachineGrant.noAssertion) else { return error }
        if error.description.contains(MachineGrant.missingSecret) {
            error.hint =
                "set \(App.clientSecretVariable), and choose the session with --session or \(App.sessionVariable)"
        } else if error.description.contains(OAuthErrorCode.invalidClient.rawValue) {
            error.hint = "check the client secret in \(App.clientSecretVariable)"
        }
        return error
    }

    package func hint(for other: SessionName) -> CommandHint {
        other == session ? hint : CommandHint(session: other, store: options.store)
    }

    /// Returns a new store without cached state.
    package func archive(of session: SessionName, isInteractive: Bool = true) throws -> AccountStore {
        try archive(of: session, at: location, isInteractive: isInteractive)
    }

    func archive(
        of session: SessionName, at location: StoreLocation?, isInteractive: Bool = true
    ) throws -> AccountStore {
        let store = try App.archiveStore(
            of: session, in: container, at: location, isInteractive: isInteractive, logger: logger)
        store.observeExchanges(SignalGuard.shared)
        return store
    }

    func archive(with keySources: [any KeySource]) throws -> AccountStore {
        try App.archiveStore(of: session, in: container, at: location, with: keySources, logger: logger)
    }

    /// Returns the existing sessions, with the default session first.
    package func sessions() async throws -> [SessionName] {
        guard let location else { return try container.sessions() }
        do {
            return try await App.sessions(at: location.text, in: container, logger: logger)
        } catch let error as AccountError {
            throw location.naming(error)
        }
    }

    /// Returns a name that is meaningful on any machine: for files, a URL with a host (RFC 8089, section 2).
    func name(of location: StoreLocation?) -> String {
        guard let location, !location.isFiles else {
            return "file://\(SystemCall.hostName ?? "")\(container.directory(of: session))"
        }
        var text = location.text
        while text.hasSuffix("/") { text.removeLast() }
        return text
    }

    var archivePlace: String { location?.text ?? container.archivePath(of: session) }

    package var tool: String { CommandLine.toolName }

    /// Waits for pending requests. Call this after all output, because the requests may take a long time.
    package func finishPendingRequests() async {
        await Waiting.toFinish(SignalGuard.shared.timeLeft) {
            await store.finishPendingRequests()
            if archive !== store { await archive.finishPendingRequests() }
        }
    }

    /// Returns the authority for the service that issued an account's tokens, regardless of the settings.
    package func authority(
        of account: Account, in other: SessionName? = nil, timeout: Duration = .seconds(10)
    ) throws -> any AccountAuthority {
        let session = other ?? session
        let isChosen = session == chosenSession
        var named = AccountService(
            of: account, remembered: readableService(of: session), acceptsGivenSecret: isChosen)
        var unnamed = AccountService(of: account, remembered: nil, acceptsGivenSecret: isChosen)
        if account.credentials.machine?.needsSecret == true {
            let secret = givenClientSecret(for: session)
            (named.clientSecret, unnamed.clientSecret) = (secret, secret)
        }
        do {
            return try authority(for: named, timeout: timeout)
        } catch  where named != unnamed {
            // Only a later version supports this name or option. The issuer still identifies the service.
            return try authority(for: unnamed, timeout: timeout)
        }
    }

    /// Returns why this program gets no assertion for the session of a workload.
    ///
    /// - Parameter isQuick: Whether to start no program and send no request.
    func assertionProblem(of account: Account, isQuick: Bool = true) async -> String? {
        guard account.credentials.machine?.workload != nil else { return nil }
        do {
            guard let authority = try authority(of: account, timeout: .seconds(5)) as? any ClientAuthority,
                let problem = await authority.assertionProblem(for: account, isQuick: isQuick)
            else { return nil }
            if case .misconfigured(let text) = problem { return text }
            return "\(SessionDecision.reason(for: problem))"
        } catch {
            return "\(error)"
        }
    }

    /// Throws an error if a program prints the assertions of a session in a shared store: another machine could choose the
    /// program that this machine runs.
    ///
    /// - Parameter workload: The words in an archive, or the value of the option as one word.
    private func checkProgram(of workload: [String]?) throws(AccountError) {
        guard location?.isFiles == false, let workload else { return }
        let words = workload.count == 1 ? workload[0].split(separator: " ").map { String($0) } : workload
        let source = words.first == MachineGrant.identityAssertion ? words.dropFirst(3) : words[...]
        guard source.first == "command" else { return }
        throw AccountError(
            .misconfigured, "a session in a shared store cannot get its assertions from a program",
            hint: "use --workload 'file PATH' or 'env NAME', or sign in on each machine with --store file:")
    }

    /// Returns the service in the settings of a session; `nil` if there is none, or if the settings are unreadable. In
    /// these cases, the account itself identifies its service.
    package func readableService(of session: SessionName) -> AccountService? {
        App.acceptsIssuer ? try? preferences.service(of: session) : nil
    }

    func authority(for service: AccountService, timeout: Duration) throws -> any AccountAuthority {
        try checkProgram(of: service.workload)
        return try App.authority(for: service, timeout: timeout, logger: logger)
    }

    /// Whether the app can sign in by the URL of an API. Other apps ignore ``AccountService/url``, or throw an error
    /// because there is no issuer.
    var acceptsAPIs: Bool {
        let service = AccountService(url: "https://api.example.com")
        return App.acceptsIssuer
            && (try? authority(for: service, timeout: .seconds(10))) is any DiscoveringAuthority
    }

    /// Returns the service to sign in to: the service in the options, otherwise the service of the session's last
    /// sign-in.
    func service(
        named name: String?, at url: String? = nil, _ options: IssuerOptions<App>, _ request: RequestOptions<App>
    ) throws -> AccountService {
        guard App.acceptsIssuer || name == nil && url == nil && options.issuer == nil && options.clientID == nil else {
            throw AccountError(
                .invalidArgument, "the service of this tool is fixed",
                hint: "omit the URL, --service, --issuer and --client-id")
        }
        let remembered = App.acceptsIssuer ? try preferences.service(of: session) : nil
        guard !App.acceptsIssuer || name != nil || url != nil || options.issuer != nil || remembered != nil else {
            throw AccountError(
                .invalidArgument,
                "specify the service",
                hint: "pass the URL of the API, such as https://api.example.com, or add --issuer "
                    + "https://auth.example.com (and --client-id), or --service github")
        }
        if let url = url ?? (name == nil && options.issuer == nil ? remembered?.url : nil) {
            guard acceptsAPIs else {
                throw AccountError(
                    .invalidArgument, "this tool does not sign in by the URL of an API",
                    hint: "pass the URL of the service with --issuer")
            }
            return service(at: url, remembered, options, request)
        }
        let name = name?.lowercased()
        // Without options, use the same service again. A name without an issuer means the service at its own address.
        let isSame =
            (name == nil || name == remembered?.name)
            && (options.issuer == nil || options.issuer?.withoutEndingSlash == remembered?.issuer?.withoutEndingSlash)
        var service = isSame ? remembered ?? AccountService() : AccountService()
        service.url = nil
        service.name = name ?? service.name
        service.issuer = options.issuer ?? (name == nil ? service.issuer : nil)
        apply(options, request, to: &service)
        return service
    }

    /// Returns the service of an API. The API names its authorization server again at each sign-in, so an earlier one is
    /// not remembered.
    private func service(
        at url: String, _ remembered: AccountService?, _ options: IssuerOptions<App>, _ request: RequestOptions<App>
    ) -> AccountService {
        // The settings, such as the client ID, are for the service of the last sign-in.
        let isSame =
            url == remembered?.url
            && (options.issuer == nil || options.issuer?.withoutEndingSlash == remembered?.issuer?.withoutEndingSlash)
        var service = isSame ? remembered ?? AccountService() : AccountService()
        service.url = url
        service.issuer = options.issuer
        apply(options, request, to: &service)
        return service
    }

    private func apply(
        _ options: IssuerOptions<App>, _ request: RequestOptions<App>, to service: inout AccountService
    ) {
        service.clientID = options.clientID ?? service.clientID
        service.clientMetadataURL = options.clientMetadataURL ?? service.clientMetadataURL
        service.redirectURI = request.redirectURI ?? service.redirectURI
        service.audience = request.audience ?? service.audience
        service.clientAuthentication = request.clientAuth?.method ?? service.clientAuthentication
        service.bindsTokens = request.dpop ?? service.bindsTokens
        if !request.scopes.isEmpty || request.defaultScopes != nil {
            service.scopes = request.scopes
            service.usesDefaultScopes = request.defaultScopes ?? true
        }
        if !request.resources.isEmpty { service.resources = request.resources }
        if !request.parameters.isEmpty { service.parameters = request.parameters.values }
    }

    func rememberedService() throws -> AccountService {
        guard App.acceptsIssuer else { return AccountService() }
        guard let service = try preferences.service(of: session) else {
            throw AccountError(
                .invalidArgument,
                "the service of the token in \(App.tokenVariable) is unknown",
                hint: "unset the variable and sign in once with "
                    + "`\(hint.command("login"))`")
        }
        return service
    }

    /// Sends the pending revocations of all sessions to `issuer`, or to all services if `issuer` is `nil`. If the user
    /// requested this, AccountKit ignores pauses and may ask for a passphrase. Otherwise, AccountKit skips the
    /// remaining sessions after one second.
    package func deliverRevocations(to issuer: String? = nil, isRequested: Bool = false) async {
        let start = ContinuousClock.now
        for session in sessionsWithRevocations() {
            guard isRequested || start.duration(to: .now) < .seconds(1) else { return }
            do {
                let store = session == self.session ? archive : try archive(of: session, isInteractive: isRequested)
                await deliverRevocations(to: issuer, of: store, isRequested: isRequested)
            } catch {
                // `doctor` reports the problem with that session.
                logger?.debug("revocations of session \(session) were not sent", metadata: ["error": "\(error)"])
            }
        }
    }

    /// Returns the sessions, with the current session first. In a shared store, returns only the current session,
    /// because the machines that use the other sessions send their revocations.
    private func sessionsWithRevocations() -> [SessionName] {
        var result = [session]
        guard location == nil else { return result }
        do {
            // The default session is listed only while a user is signed in.
            for other in try [.default] + container.sessions() where !result.contains(other) { result.append(other) }
        } catch {
            logger?.debug("the sessions cannot be listed", metadata: ["error": "\(error)"])
        }
        return result
    }

    /// Sends the pending revocations of one session that were queued before a date.
    func deliverRevocations(
        to issuer: String? = nil, of store: AccountStore, before date: Date = .distantFuture, isRequested: Bool = false
    ) async {
        let remembered = readableService(of: store.session)
        let reports = await store.deliverRevocations(
            with: { account in
                guard issuer == nil || account.issuer == issuer, (account.verifiedAt ?? .distantPast) < date else {
                    return nil
                }
                // The secret in the environment may belong to a later sign-in in this session.
                let isSameClient =
                    remembered?.issuer == account.issuer && remembered?.clientID == account.credentials.clientID
                let secret = isSameClient ? givenClientSecret(for: store.session) : nil
                var service = AccountService(
                    of: account, remembered: remembered, acceptsGivenSecret: secret != nil)
                if account.credentials.machine?.needsSecret == true, App.acceptsIssuer {
                    // Without the secret, the tokens stay in the queue until they expire.
                    guard let secret else { return nil }
                    service.clientSecret = secret
                }
                // If the service is unknown, the revocation stays in the queue until it is too old.
                return try? authority(for: service, timeout: .seconds(isRequested ? 5 : 1))
            }, ignoringPauses: isRequested, isInteractive: isRequested && Terminal.isTerminal(.input))
        for report in reports where report.isGivenUp {
            let reason = report.failure.map { " (\(SessionDecision.reason(for: $0)))" } ?? ""
            Terminal.say(
                "\(report.issuer ?? "The service") refused to revoke the tokens of an earlier session\(reason). AccountKit "
                    + "will not try again. The tokens stay valid there until they expire, unless you end the session at "
                    + "the service.")
        }
    }

    func environment(of account: Account?) -> [NetworkSetting] {
        let effects = [
            ("HOME", "folder for all files"), ("SESSION", "session to use"),
            ("STORE", "where sessions are stored"), ("TOKEN", "used instead of the archive"),
        ]
        let own = effects.compactMap { suffix, effect in
            let variable = "\(App.environmentPrefix)_\(suffix)"
            return Environment.value(variable).map {
                NetworkSetting(variable: variable, value: suffix == "TOKEN" ? "set" : $0, effect: effect)
            }
        }
        let authority =
            if let account {
                try? authority(of: account)
            } else {
                try? authority(for: rememberedService(), timeout: .seconds(10))
            }
        return own + ((authority as? any NetworkSettingsAuthority)?.networkSettings ?? [])
    }

    package func refuseEnvironmentToken(to what: String) throws {
        guard App.environmentToken != nil else { return }
        throw AccountError(
            .invalidArgument,
            "\(App.tokenVariable) is set, so AccountKit uses it instead of the archive", hint: "unset it to \(what)")
    }
}

/// A command that creates its context itself, because its input determines the session.
package protocol ContextCommand: AsyncParsableCommand {
    associatedtype App: AccountApplication

    var options: CommonOptions { get }

    /// Whether an error is reported on one line, because another program shows it.
    var reportsOnOneLine: Bool { get }
}

/// A command whose options determine its context. It reports errors with messages and exit codes.
package protocol AccountSubcommand: ContextCommand {
    func run(in context: CommandContext<App>) async throws
}

extension AccountSubcommand {
    package func run() async throws {
        try await perform({ try CommandContext(options) }) { try await run(in: $0) }
    }
}

extension ContextCommand {
    package var reportsOnOneLine: Bool { false }

    /// Runs a command, reports errors with messages and exit codes, and waits until pending requests are finished.
    ///
    /// If new tokens could not be saved, only `refresh` fails: the token that another command printed is valid.
    package func perform(
        _ makeContext: () throws -> CommandContext<App>?, _ body: (CommandContext<App>) async throws -> Void
    ) async throws {
        let context: CommandContext<App>
        do {
            guard let made = try makeContext() else { return }
            context = made
        } catch {
            say(error)
            throw end(after: error)
        }
        var failure: (any Error)?
        do {
            try await body(context)
        } catch {
            failure = error
            say(context.namingClientSecret(error), naming: context.hint)
        }
        await context.finishPendingRequests()
        if failure == nil, context.store.hasUnsavedTokens {
            let error = AccountError(
                context.location == nil ? .inaccessible : .storeUnreachable,
                "new tokens could not be stored",
                hint: "run `\(CommandLine.toolName) doctor` to find the cause"
                    + (context.store.account?.credentials.machine == nil
                        ? ". If the stored tokens were already used, the next refresh ends the session; then sign in again"
                        : ""))
            Terminal.say(error, onOneLine: reportsOnOneLine)
            if self is RefreshCommand<App> { failure = error }
        }
        if let failure { throw end(after: failure) }
    }

    private func say(_ error: any Error, naming hint: CommandHint? = nil) {
        guard var error = error as? AccountError else { return }
        error.nameSignIn(
            command: hint?.command("login") ?? "\(CommandLine.toolName) login",
            orReplaceTokenIn: App.replacingTokenVariable)
        Terminal.say(error, onOneLine: reportsOnOneLine)
        if options.verbose, let cause = error.cause as? SystemCallError {
            Terminal.say("  \(cause.debugDescription)")
        }
        // If writing to standard output fails, ignore it: the message above is on standard error.
        if options.json {
            try? JSONDocument.print(["error": ["code": error.code.rawValue, "message": error.description]])
        }
    }

    /// Returns the error to throw, unless a signal ends the process here.
    private func end(after error: any Error) -> any Error {
        switch error {
        case is Terminal.ClosedOutput: SignalGuard.endProcessByClosedPipe()
        case let error as AccountError:
            if error.cause is Interruption { SignalGuard.interruptProcess() }
            return ExitCode(error.exitCode)
        default: return error
        }
    }
}

extension NetworkSetting {
    var summary: String { "\(variable)=\(value) (\(problem ?? effect))" }
}

extension [RequestParameter] {
    var values: [String: String] { Dictionary(map { ($0.name, $0.value) }) { $1 } }
}

extension [NetworkSetting] {
    var values: [String: String] { Dictionary(map { ($0.variable, $0.value) }) { first, _ in first } }
}

extension String {
    fileprivate var withoutEndingSlash: Substring { hasSuffix("/") ? dropLast() : self[...] }
}
