import AccountKit
import ArgumentParser
import Logging

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What a command works with: the container, the session, its stores, and the ways to the service.
struct CommandContext<App: AccountApplication> {
    let options: CommonOptions
    let container: AppContainer
    let preferences: Preferences
    let session: SessionName

    /// Its account is the token from the environment, if there is one.
    let store: AccountStore

    /// For commands that are about what is stored, whatever token the environment has.
    let archive: AccountStore
    private var logger: Logger?

    init(_ options: CommonOptions) throws {
        self.options = options
        container = try App.container()
        preferences = Preferences(container: container)
        session = try App.chosenSession(options.session.map(SessionName.init), preferences)
        if options.verbose {
            logger = Logger(label: "account") { StreamLogHandler.standardError(label: $0) }
            logger?.logLevel = .debug
        }
        store = try App.store(of: session, in: container, logger: logger)
        archive =
            App.environmentToken == nil
            ? store : try App.archiveStore(of: session, in: container, logger: logger)
        store.observeExchanges(SignalGuard.shared)
        archive.observeExchanges(SignalGuard.shared)
    }

    /// A new store of a session's archive, with nothing in memory.
    ///
    /// - Parameter asksPerson: Whether a passphrase may be asked for.
    func archive(of session: SessionName, asksPerson: Bool = true) throws -> AccountStore {
        let store = try App.archiveStore(of: session, in: container, asksPerson: asksPerson, logger: logger)
        store.observeExchanges(SignalGuard.shared)
        return store
    }

    func archive(with keySources: [any KeySource]) -> AccountStore {
        AccountStore(container: container, session: session, keySources: keySources, logger: logger)
    }

    /// Waits for the token exchanges that are under way, and says so to someone who is watching.
    func finishExchanges() async {
        await Waiting.toFinish(SignalGuard.shared.timeLeft) { await store.finishExchanges() }
    }

    /// The name that a person types for these commands: `account`, or `gists account`.
    var tool: String { CommandLine.toolName }

    // MARK: The service

    /// The authority that an account's tokens come from, whatever the settings say.
    ///
    /// - Parameter other: The session that it is signed in to, if that is not the commands'.
    func authority(
        of account: Account, in other: SessionName? = nil, timeout: Duration = .seconds(10)
    ) throws -> any AccountAuthority {
        let named = AccountService(of: account, remembered: readableService(of: other ?? session))
        do {
            return try authority(for: named, timeout: timeout)
        } catch  where named != AccountService(of: account, remembered: nil) {
            // A name or an option that only a later version knows; the issuer still says where the service is.
        }
        return try authority(for: AccountService(of: account, remembered: nil), timeout: timeout)
    }

    /// The service that a session signed in to last; `nil` also if the settings cannot be read.
    ///
    /// The account itself says where its service is, so settings that were damaged are no reason to leave it without one.
    /// That they were is said by `doctor`, and by `login`, which needs them.
    private func readableService(of session: SessionName) -> AccountService? {
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
        // Nothing said is the same again; a name alone is that service at its home.
        let isSame =
            (name == nil || name == remembered?.name)
            && (options.issuer == nil || options.issuer?.withoutEndingSlash == remembered?.issuer?.withoutEndingSlash)
        var service = isSame ? remembered ?? AccountService() : AccountService()
        service.name = name ?? service.name
        service.issuer = options.issuer ?? (name == nil ? service.issuer : nil)
        service.clientID = options.clientID ?? service.clientID
        service.redirectURI = request.redirectURI ?? service.redirectURI
        service.audience = request.audience ?? service.audience
        if !request.scopes.isEmpty { service.scopes = request.scopes }
        if !request.resources.isEmpty { service.resources = request.resources }
        if !request.parameters.isEmpty { service.parameters = request.parameters.values }
        return service
    }

    /// The service that the session signed in to last: that of a token from the environment, too.
    func rememberedService() throws -> AccountService {
        guard App.acceptsIssuer else { return AccountService() }
        guard let service = try preferences.service(of: session) else {
            throw AccountError(
                .invalidArgument,
                "it is not known which service the token in \(App.tokenVariable) is for: sign in once without it, with "
                    + "`\(tool) login`")
        }
        return service
    }

    /// Has services revoke what they could not be asked to revoke before.
    ///
    /// - Parameters:
    ///   - issuer: The service that was just reached; with `nil` all are asked.
    ///   - store: Of which session; that of the commands unless another is given.
    ///   - date: Only what was put into the queue before.
    ///   - isRequested: Whether this is what the person wants, so that nothing is left for later, and a passphrase may be asked
    ///     for.
    func deliverRevocations(
        to issuer: String? = nil, of store: AccountStore? = nil, before date: Date = .distantFuture,
        isRequested: Bool = false
    ) async {
        let store = store ?? archive
        let remembered = readableService(of: store.session)
        let reports = await store.deliverRevocations(
            with: { account in
                guard issuer == nil || account.issuer == issuer, (account.verifiedAt ?? .distantPast) < date else {
                    return nil
                }
                // One whose service cannot be made out stays in the queue until it is too old.
                return try? authority(for: AccountService(of: account, remembered: remembered), timeout: .seconds(5))
            }, ignoringPauses: isRequested, asksPerson: isRequested && Terminal.isTerminal(.input))
        for report in reports where report.isGivenUp {
            let reason = report.failure.map { " (\(SessionDecision.reason(for: $0)))" } ?? ""
            Terminal.say(
                "\(report.issuer ?? "The service") has refused to revoke the tokens of an earlier sign-in\(reason), and is not asked "
                    + "again. They stay valid there until they expire, unless you end the session at the service.")
        }
    }

    /// The environment variables that are set and count, those on the way to an account's service among them.
    func environment(of account: Account?) -> [NetworkSetting] {
        let effects = [
            ("HOME", "the folder for everything"), ("SESSION", "which sign-in"),
            ("TOKEN", "used instead of the archive"),
        ]
        let own = effects.compactMap { suffix, effect in
            let variable = "\(App.environmentPrefix)_\(suffix)"
            return Environment.value(variable).map {
                NetworkSetting(variable: variable, value: suffix == "TOKEN" ? "set" : $0, effect: effect)
            }
        }
        // Only what is shown beside the state depends on it; who needs the service hears why there is none.
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

/// Makes the context, and turns errors into words and exit codes.
protocol AccountSubcommand: AsyncParsableCommand {
    associatedtype App: AccountApplication

    var options: CommonOptions { get }

    func run(in context: CommandContext<App>) async throws
}

extension AccountSubcommand {
    func run() async throws {
        let context: CommandContext<App>
        do {
            context = try CommandContext(options)
        } catch {
            say(error)
            throw end(after: error)
        }
        var failure: (any Error)?
        do {
            try await run(in: context)
        } catch {
            failure = error
            say(error)
        }
        // What there was to say has been said.
        await context.finishExchanges()
        if let failure { throw end(after: failure) }
    }

    /// Says what is wrong, on standard error and as JSON. What is not this module's, the parser says.
    private func say(_ error: any Error) {
        guard let error = error as? AccountError else { return }
        Terminal.say(error.cause is Interruption ? "Cancelled." : "\(CommandLine.toolName): \(error)")
        // Where standard output is what is wrong, that was said a line before.
        if options.json { try? JSONDocument.print(ErrorDocument(error)) }
    }

    /// What is to be thrown, if the process does not end here by a signal.
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
    /// Of two of one name, the later one counts.
    var values: [String: String] { Dictionary(map { ($0.name, $0.value) }) { $1 } }
}

extension [NetworkSetting] {
    /// By their variables, for JSON.
    var values: [String: String] { Dictionary(map { ($0.variable, $0.value) }) { first, _ in first } }
}

extension String {
    fileprivate var withoutEndingSlash: Substring { hasSuffix("/") ? dropLast() : self[...] }
}
