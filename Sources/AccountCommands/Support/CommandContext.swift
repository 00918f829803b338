public import AccountKit
import ArgumentParser
public import Logging

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension AccountApplication {
    /// The app's folders: those below `<PREFIX>_HOME` if that is set, else where the platform has them.
    ///
    /// - Throws: `AccountError.Code.invalidArgument` if the variable is not an absolute path.
    public static func container() throws(AccountError) -> AppContainer {
        if let home = Environment.value(environmentPrefix + "_HOME") {
            return try AppContainer(root: home, identifier: identifier)
        }
        return try AppContainer(identifier: identifier)
    }

    /// The store of the session that the commands use: that of `<PREFIX>_SESSION`, else the one that `switch` chose.
    public static func store(logger: Logger? = nil) async throws -> AccountStore {
        let container = try container()
        let preferences = Preferences(container: container)
        let session = try await session(named: nil, preferences)
        let keys = try await preferences.keySettings(of: session)
        return AccountStore(
            container: container, session: session, keySources: try keys.sources(of: session, container, Self.self),
            logger: logger)
    }

    fileprivate static func session(named name: String?, _ preferences: Preferences) async throws -> SessionName {
        guard let name = name ?? Environment.value(environmentPrefix + "_SESSION") else {
            return try await preferences.defaultSession()
        }
        return try SessionName(name)
    }
}

/// What a command works with: the container, the session, the store, and the ways to the service.
struct CommandContext<App: AccountApplication> {
    let options: CommonOptions
    let container: AppContainer
    let preferences: Preferences
    let session: SessionName
    let store: AccountStore
    private var logger: Logger?

    /// A token from the environment, which is used instead of the archive.
    let environmentToken: Secret?

    /// The environment variable with a token.
    static var tokenVariable: String { App.tokenVariable }

    init(_ options: CommonOptions) async throws {
        self.options = options
        container = try App.container()
        preferences = Preferences(container: container)
        session = try await App.session(named: options.session, preferences)
        environmentToken = Environment.value(Self.tokenVariable).map { Secret($0) }
        if options.verbose {
            logger = Logger(label: "account") { StreamLogHandler.standardError(label: $0) }
            logger?.logLevel = .debug
        }
        let keys = try await preferences.keySettings(of: session)
        store = AccountStore(
            container: container, session: session, keySources: try keys.sources(of: session, container, App.self),
            logger: logger)
        store.observeExchanges(SignalGuard.shared)
    }

    /// The store of another session of the same container.
    func store(of session: SessionName) async throws -> AccountStore {
        store(of: session, try await preferences.keySettings(of: session).sources(of: session, container, App.self))
    }

    /// How things stand with a session, as far as that can be seen without asking a person.
    func state(of session: SessionName) async throws -> SessionState {
        let settings = try await preferences.keySettings(of: session)
        return await store(
            of: session, try settings.sources(of: session, container, App.self, asksPerson: false)
        ).load()
    }

    /// A store whose keys are from somewhere else.
    func store(of session: SessionName, _ keySources: [any KeySource]) -> AccountStore {
        let store = AccountStore(container: container, session: session, keySources: keySources, logger: logger)
        store.observeExchanges(SignalGuard.shared)
        return store
    }

    /// Waits for the token exchanges that are under way, and says so to someone who is watching.
    func finishExchanges() async {
        await Waiting.toFinish(SignalGuard.shared.timeLeft) { await store.finishExchanges() }
    }

    /// The name that a person types for these commands: `account`, or `gists account`.
    var tool: String { CommandLine.arguments.toolName }

    // MARK: The service

    /// The authority of a signed-in account: the one that its tokens come from, whatever the settings say.
    ///
    /// - Parameters:
    ///   - account: The account.
    ///   - other: The session that it is signed in to, if that is not the commands'.
    ///   - timeout: How long one request may take.
    func authority(
        of account: Account, in other: SessionName? = nil, timeout: Duration = .seconds(10)
    ) async throws -> any AccountAuthority {
        let named = AccountService(of: account, remembered: await readableService(of: other ?? session))
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
    private func readableService(of session: SessionName) async -> AccountService? {
        App.acceptsIssuer ? try? await preferences.service(of: session) : nil
    }

    /// The authority of a service.
    func authority(for service: AccountService, timeout: Duration) throws -> any AccountAuthority {
        try App.authority(for: service, timeout: timeout, logger: logger)
    }

    /// The service to sign in to: the options', else the one that the session signed in to last.
    func service(_ options: ServiceOptions, _ request: RequestOptions) async throws -> AccountService {
        guard App.acceptsIssuer else {
            if options.name != nil || options.issuer != nil || options.clientID != nil {
                throw AccountError(
                    .invalidArgument, "this tool knows its service: omit --service, --issuer and --client-id")
            }
            return AccountService(
                scopes: options.scopes, redirectURI: request.redirectURI, audience: request.audience,
                resources: request.resources, parameters: request.parameters.values)
        }
        let remembered = try await preferences.service(of: session)
        guard options.name != nil || options.issuer != nil || remembered != nil else {
            throw AccountError(
                .invalidArgument,
                "say where to sign in: add --issuer https://auth.example.com (and --client-id), or --service github")
        }
        let name = options.name?.lowercased()
        // Nothing said is the same again; a name alone is that service at its home.
        let isSame =
            (name == nil || name == remembered?.name)
            && (options.issuer == nil || options.issuer?.withoutEndingSlash == remembered?.issuer?.withoutEndingSlash)
        return AccountService(
            name: name ?? (isSame ? remembered?.name : nil),
            issuer: options.issuer ?? (name == nil ? remembered?.issuer : nil),
            clientID: options.clientID ?? (isSame ? remembered?.clientID : nil),
            scopes: options.scopes.isEmpty && isSame ? remembered?.scopes ?? [] : options.scopes,
            redirectURI: request.redirectURI ?? (isSame ? remembered?.redirectURI : nil),
            audience: request.audience ?? (isSame ? remembered?.audience : nil),
            resources: request.resources.isEmpty && isSame ? remembered?.resources ?? [] : request.resources,
            parameters: request.parameters.isEmpty && isSame ? remembered?.parameters ?? [:] : request.parameters.values
        )
    }

    /// The service that the session signed in to last: that of a token from the environment, too.
    func rememberedService() async throws -> AccountService {
        guard App.acceptsIssuer else { return AccountService() }
        guard let service = try await preferences.service(of: session) else {
            throw AccountError(
                .invalidArgument,
                "it is not known which service the token in \(Self.tokenVariable) is for: sign in once without it, with "
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
        let store = store ?? self.store
        let remembered = await readableService(of: store.session)
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
            say(
                "\(report.issuer ?? "The service") has refused to revoke the tokens of an earlier sign-in\(reason), and is not asked "
                    + "again. They stay valid there until they expire, unless you end the session at the service.")
        }
    }

    // MARK: The environment

    /// The environment variables that are set and count, those on the way to an account's service among them.
    func environment(of account: Account?) async -> [NetworkSetting] {
        let own = [("HOME", "the folder for everything"), ("SESSION", "which sign-in")].compactMap { suffix, effect in
            let variable = "\(App.environmentPrefix)_\(suffix)"
            return Environment.value(variable).map { NetworkSetting(variable: variable, value: $0, effect: effect) }
        }
        let token = environmentToken.map { _ in
            NetworkSetting(variable: Self.tokenVariable, value: "set", effect: "used instead of the archive")
        }
        var network: [NetworkSetting] = []
        // Only what is shown beside the state depends on it; who needs the service hears why there is none.
        let service: (any AccountAuthority)? =
            if let account {
                try? await authority(of: account)
            } else if let remembered = await readableService(of: session) {
                try? authority(for: remembered, timeout: .seconds(10))
            } else {
                App.acceptsIssuer ? nil : try? authority(for: AccountService(), timeout: .seconds(10))
            }
        if let service { network = service.networkSettings }
        return own + (token.map { [$0] } ?? []) + network
    }

    // MARK: Output

    /// Says something to a person, on standard error.
    func say(_ text: String) { Terminal.say(text) }

    /// Refuses what makes no sense while a token from the environment is used.
    func refuseEnvironmentToken(to what: String) throws {
        guard environmentToken != nil else { return }
        throw AccountError(
            .invalidArgument,
            "\(Self.tokenVariable) is set and is used instead of the archive: unset it to \(what)")
    }
}

/// A command of this module: it makes the context, and turns errors into words and exit codes.
protocol AccountSubcommand: AsyncParsableCommand {
    associatedtype App: AccountApplication

    var options: CommonOptions { get }

    func run(in context: CommandContext<App>) async throws
}

extension AccountSubcommand {
    func run() async throws {
        let context: CommandContext<App>
        do {
            context = try await CommandContext(options)
        } catch {
            throw CommandEnd(after: error, asJSON: options.json).carriedOut()
        }
        var end: CommandEnd?
        do {
            try await run(in: context)
        } catch {
            end = CommandEnd(after: error, asJSON: options.json)
        }
        // What there was to say has been said.
        await context.finishExchanges()
        if let end { throw end.carriedOut() }
    }
}

/// How a command ends that did not do what it was asked for.
private enum CommandEnd {
    case code(ExitCode)
    case closedOutput
    case interruption
    /// The parser's.
    case other(any Error)

    /// Says what is wrong, on standard error and as JSON.
    init(after error: any Error, asJSON isJSON: Bool) {
        switch error {
        case let error as AccountError:
            let isInterruption = error.cause is Interruption
            Terminal.say(isInterruption ? "Cancelled." : "\(CommandLine.arguments.toolName): \(error)")
            self = isInterruption ? .interruption : .code(ExitStatus.code(of: error))
            // Where standard output is what is wrong, that was said a line before.
            if isJSON { try? JSONDocument.print(ErrorDocument(error)) }
        case is Terminal.ClosedOutput: self = .closedOutput
        case let code as ExitCode: self = .code(code)
        default: self = .other(error)
        }
    }

    /// What is to be thrown, if the process does not end here by a signal.
    func carriedOut() -> any Error {
        switch self {
        case .code(let code): return code
        case .closedOutput: SignalGuard.endProcessByClosedPipe()
        case .interruption:
            SignalGuard.interruptProcess()
            return ExitStatus.interrupted
        case .other(let error): return error
        }
    }
}

extension [String] {
    /// The words up to and with `account`: how a person calls these commands.
    var toolName: String {
        let name = first.map { String($0.split(separator: "/").last ?? "account") } ?? "account"
        return dropFirst().first == "account" ? name + " account" : name
    }
}

extension NetworkSetting {
    /// The setting, in a line.
    var summary: String { "\(variable)=\(value) (\(problem ?? effect))" }
}

extension [RequestParameter] {
    /// Values by their names; of two of one name, the later one counts.
    var values: [String: String] { Dictionary(map { ($0.name, $0.value) }) { $1 } }
}

extension [NetworkSetting] {
    /// Values by their variables, for JSON.
    var values: [String: String] { Dictionary(map { ($0.variable, $0.value) }) { first, _ in first } }
}

extension String {
    fileprivate var withoutEndingSlash: Substring { hasSuffix("/") ? dropLast() : self[...] }
}
