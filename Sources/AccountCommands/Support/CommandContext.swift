import AccountKit
import ArgumentParser
import Logging

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The container, session, stores and services that a command works with.
struct CommandContext<App: AccountApplication> {
    let options: CommonOptions
    let container: AppContainer
    let preferences: Preferences
    let session: SessionName

    /// Where sign-ins are kept; `nil` means the files of the container.
    let location: StoreLocation?

    /// Its account is the token from the environment, if there is one.
    let store: AccountStore

    /// For commands that are about what is stored, whatever token the environment has.
    let archive: AccountStore
    private var logger: Logger?

    /// Writes commands for this session.
    let hint: CommandHint

    /// - Parameters:
    ///   - options: What the person said.
    ///   - session: The session, if it is not the options' affair.
    ///   - isInteractive: Whether a passphrase may be asked for.
    init(_ options: CommonOptions, session: SessionName? = nil, isInteractive: Bool = true) throws {
        self.options = options
        container = try App.container()
        preferences = Preferences(container: container)
        self.session = try session ?? App.chosenSession(options.session.map(SessionName.init), preferences)
        // The default session is left out only if a command without --session uses it. If the chosen session cannot be read, the
        // hint names the session, which is always right.
        let isChosen = session != nil || options.session != nil
        hint = CommandHint(
            session: self.session,
            isNamed: self.session != .default
                || isChosen && (try? App.chosenSession(nil, preferences)) != .default,
            store: options.store)
        location = App.storeLocation(options.store)
        if options.verbose {
            logger = Logger(label: "account") { StreamLogHandler.standardError(label: $0) }
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

    /// Writes commands for another session.
    func hint(for other: SessionName) -> CommandHint {
        other == session ? hint : CommandHint(session: other, store: options.store)
    }

    /// A new store, with nothing in memory.
    func archive(of session: SessionName, isInteractive: Bool = true) throws -> AccountStore {
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

    /// All of which there is anything, the default one first.
    func sessions() async throws -> [SessionName] {
        guard let location else { return try container.sessions() }
        do {
            return try await App.sessions(at: location.text, in: container, logger: logger)
        } catch let error as AccountError {
            throw location.naming(error)
        }
    }

    /// What a place is called where a session was moved from or to, on whatever machine that is read: for files a URL with a host
    /// (RFC 8089, section 2).
    func name(of location: StoreLocation?) -> String {
        guard let location, !location.isFiles else {
            return "file://\(SystemCall.hostName ?? "")\(container.directory(of: session))"
        }
        var text = location.text
        while text.hasSuffix("/") { text.removeLast() }
        return text
    }

    /// Where the account is kept, for a person.
    var archivePlace: String { location?.text ?? container.archivePath(of: session) }

    var tool: String { CommandLine.toolName }

    /// After all output, since this may wait.
    func finishPendingRequests() async {
        await Waiting.toFinish(SignalGuard.shared.timeLeft) {
            await store.finishPendingRequests()
            if archive !== store { await archive.finishPendingRequests() }
        }
    }

    /// The authority that an account's tokens come from, whatever the settings say.
    ///
    /// - Parameter other: The session that it is signed in to, if that is not the commands'.
    func authority(
        of account: Account, in other: SessionName? = nil, timeout: Duration = .seconds(10)
    ) throws -> any AccountAuthority {
        let named = AccountService(of: account, remembered: readableService(of: other ?? session))
        let unnamed = AccountService(of: account, remembered: nil)
        do {
            return try authority(for: named, timeout: timeout)
        } catch  where named != unnamed {
            // Only a later version knows this name or option; the issuer still says where the service is.
            return try authority(for: unnamed, timeout: timeout)
        }
    }

    /// `nil` also if the settings cannot be read: the account itself says where its service is. `doctor` and `login`
    /// report damaged settings.
    func readableService(of session: SessionName) -> AccountService? {
        App.acceptsIssuer ? try? preferences.service(of: session) : nil
    }

    func authority(for service: AccountService, timeout: Duration) throws -> any AccountAuthority {
        try App.authority(for: service, timeout: timeout, logger: logger)
    }

    /// The service to sign in to: the options', else the one that the session signed in to last.
    func service(
        named name: String?, _ options: IssuerOptions<App>, _ request: RequestOptions<App>
    ) throws -> AccountService {
        guard App.acceptsIssuer || name == nil && options.issuer == nil && options.clientID == nil else {
            throw AccountError(
                .invalidArgument, "this tool knows its service: omit --service, --issuer and --client-id")
        }
        let remembered = App.acceptsIssuer ? try preferences.service(of: session) : nil
        guard !App.acceptsIssuer || name != nil || options.issuer != nil || remembered != nil else {
            throw AccountError(
                .invalidArgument,
                "say where to sign in: add --issuer https://auth.example.com (and --client-id), or --service github")
        }
        let name = name?.lowercased()
        // Without options it is the same service again; a name alone means that service at its home.
        let isSame =
            (name == nil || name == remembered?.name)
            && (options.issuer == nil || options.issuer?.withoutEndingSlash == remembered?.issuer?.withoutEndingSlash)
        var service = isSame ? remembered ?? AccountService() : AccountService()
        service.name = name ?? service.name
        service.issuer = options.issuer ?? (name == nil ? service.issuer : nil)
        service.clientID = options.clientID ?? service.clientID
        service.redirectURI = request.redirectURI ?? service.redirectURI
        service.audience = request.audience ?? service.audience
        service.clientAuthentication = request.clientAuth?.method ?? service.clientAuthentication
        if !request.scopes.isEmpty || request.defaultScopes != nil {
            service.scopes = request.scopes
            service.usesDefaultScopes = request.defaultScopes ?? true
        }
        if !request.resources.isEmpty { service.resources = request.resources }
        if !request.parameters.isEmpty { service.parameters = request.parameters.values }
        return service
    }

    /// For a token from the environment, which does not say where its service is.
    func rememberedService() throws -> AccountService {
        guard App.acceptsIssuer else { return AccountService() }
        guard let service = try preferences.service(of: session) else {
            throw AccountError(
                .invalidArgument,
                "it is not known which service the token in \(App.tokenVariable) is for: sign in once without it, with "
                    + "`\(hint.command("login"))`")
        }
        return service
    }

    /// Sends pending revocations of all sessions to their services.
    ///
    /// - Parameters:
    ///   - issuer: The service that the command just reached; `nil` asks all.
    ///   - isRequested: Whether the user asked for this: then pauses do not count, and AccountKit may ask for a passphrase. Otherwise
    ///     it takes about a second at most.
    func deliverRevocations(to issuer: String? = nil, isRequested: Bool = false) async {
        let start = ContinuousClock.now
        for session in sessionsWithRevocations() {
            guard isRequested || start.duration(to: .now) < .seconds(1) else { return }
            do {
                let store = session == self.session ? archive : try archive(of: session, isInteractive: isRequested)
                await deliverRevocations(to: issuer, of: store, isRequested: isRequested)
            } catch {
                // `doctor` reports what is wrong with that session.
                logger?.debug("revocations of session \(session) were not sent", metadata: ["error": "\(error)"])
            }
        }
    }

    /// This session first. In a shared store only this one: its machines send those of the others.
    private func sessionsWithRevocations() -> [SessionName] {
        var result = [session]
        guard location == nil else { return result }
        do {
            // The default session is listed only while somebody is signed in.
            for other in try [.default] + container.sessions() where !result.contains(other) { result.append(other) }
        } catch {
            logger?.debug("the sessions cannot be listed", metadata: ["error": "\(error)"])
        }
        return result
    }

    /// The same for one session.
    ///
    /// - Parameter date: Only revocations that were queued before this date are sent.
    func deliverRevocations(
        to issuer: String? = nil, of store: AccountStore, before date: Date = .distantFuture, isRequested: Bool = false
    ) async {
        let remembered = readableService(of: store.session)
        let reports = await store.deliverRevocations(
            with: { account in
                guard issuer == nil || account.issuer == issuer, (account.verifiedAt ?? .distantPast) < date else {
                    return nil
                }
                // If its service is unknown, a revocation stays in the queue until it is too old.
                return try? authority(
                    for: AccountService(of: account, remembered: remembered),
                    timeout: .seconds(isRequested ? 5 : 1))
            }, ignoringPauses: isRequested, isInteractive: isRequested && Terminal.isTerminal(.input))
        for report in reports where report.isGivenUp {
            let reason = report.failure.map { " (\(SessionDecision.reason(for: $0)))" } ?? ""
            Terminal.say(
                "\(report.issuer ?? "The service") has refused to revoke the tokens of an earlier sign-in\(reason), and is not asked "
                    + "again. They stay valid there until they expire, unless you end the session at the service.")
        }
    }

    /// Environment variables that have an effect, also on the way to an account's service.
    func environment(of account: Account?) -> [NetworkSetting] {
        let effects = [
            ("HOME", "the folder for everything"), ("SESSION", "which sign-in"),
            ("STORE", "where sign-ins are kept"), ("TOKEN", "used instead of the archive"),
        ]
        let own = effects.compactMap { suffix, effect in
            let variable = "\(App.environmentPrefix)_\(suffix)"
            return Environment.value(variable).map {
                NetworkSetting(variable: variable, value: suffix == "TOKEN" ? "set" : $0, effect: effect)
            }
        }
        // Without an authority there is only less to show.
        let authority =
            if let account {
                try? authority(of: account)
            } else {
                try? authority(for: rememberedService(), timeout: .seconds(10))
            }
        return own + ((authority as? any NetworkSettingsAuthority)?.networkSettings ?? [])
    }

    /// For what makes no sense while a token from the environment is used.
    func refuseEnvironmentToken(to what: String) throws {
        guard App.environmentToken != nil else { return }
        throw AccountError(
            .invalidArgument,
            "\(App.tokenVariable) is set and is used instead of the archive: unset it to \(what)")
    }
}

/// A command that makes its context itself, since what it reads says which session it is about.
protocol ContextCommand: AsyncParsableCommand {
    associatedtype App: AccountApplication

    var options: CommonOptions { get }
}

/// Makes the context, and turns errors into words and exit codes.
protocol AccountSubcommand: ContextCommand {
    func run(in context: CommandContext<App>) async throws
}

extension AccountSubcommand {
    func run() async throws {
        try await perform({ try CommandContext(options) }) { try await run(in: $0) }
    }
}

extension ContextCommand {
    /// Turns errors into words and exit codes, and stays until what was begun is finished.
    ///
    /// What is done has its exit code even if new tokens could not be saved: the one that it handed out is good. Only whoever
    /// wanted new ones stored has not got them.
    func perform(
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
            say(error)
        }
        await context.finishPendingRequests()
        if failure == nil, context.store.hasUnsavedTokens {
            let error = AccountError(
                context.location == nil ? .inaccessible : .storeUnreachable,
                "the service gave new tokens, and they could not be stored: `\(CommandLine.toolName) doctor` finds the cause. If the "
                    + "stored ones are spent, the next refresh ends the session: then sign in again")
            Terminal.say("\(CommandLine.toolName): \(error)")
            if self is RefreshCommand<App> { failure = error }
        }
        if let failure { throw end(after: failure) }
    }

    /// Reports errors of this module; the parser reports all others.
    private func say(_ error: any Error) {
        guard let error = error as? AccountError else { return }
        Terminal.say(error.cause is Interruption ? "Cancelled." : "\(CommandLine.toolName): \(error)")
        // If standard output is what fails, the line before has said so.
        if options.json {
            try? JSONDocument.print(["error": ["code": error.code.rawValue, "message": error.description]])
        }
    }

    /// The error to throw, unless the process ends here by a signal.
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
    /// The last of each name.
    var values: [String: String] { Dictionary(map { ($0.name, $0.value) }) { $1 } }
}

extension [NetworkSetting] {
    var values: [String: String] { Dictionary(map { ($0.variable, $0.value) }) { first, _ in first } }
}

extension String {
    fileprivate var withoutEndingSlash: Substring { hasSuffix("/") ? dropLast() : self[...] }
}
