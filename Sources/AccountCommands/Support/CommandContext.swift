import AccountKit
import ArgumentParser
import Logging

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
    static var tokenVariable: String { App.environmentPrefix + "_TOKEN" }

    init(_ options: CommonOptions) async throws {
        self.options = options
        if let home = Environment.value(App.environmentPrefix + "_HOME") {
            container = try AppContainer(root: home, identifier: App.identifier)
        } else {
            container = try AppContainer(identifier: App.identifier)
        }
        preferences = Preferences(container: container)
        if let name = options.session ?? Environment.value(App.environmentPrefix + "_SESSION") {
            session = try SessionName(name)
        } else {
            session = try await preferences.defaultSession()
        }
        environmentToken = Environment.value(Self.tokenVariable).map { Secret($0) }
        if options.verbose {
            logger = Logger(label: "account") { StreamLogHandler.standardError(label: $0) }
            logger?.logLevel = .debug
        }
        store = AccountStore(container: container, session: session, logger: logger)
    }

    /// The store of another session of the same container.
    func store(of session: SessionName) -> AccountStore {
        AccountStore(container: container, session: session, logger: logger)
    }

    /// The name that a person types for these commands: `account`, or `gists account`.
    var tool: String { CommandLine.arguments.toolName }

    // MARK: The service

    /// The authority of a signed-in account: the one that its tokens come from, whatever the settings say.
    func authority(of account: Account, timeout: Duration = .seconds(10)) throws -> any AccountAuthority {
        try authority(for: AccountService(of: account), timeout: timeout)
    }

    /// The authority of a service.
    func authority(for service: AccountService, timeout: Duration) throws -> any AccountAuthority {
        try App.authority(for: service, timeout: timeout, logger: logger)
    }

    /// The service to sign in to: the options', else the one that the session signed in to last.
    func service(_ options: ServiceOptions) async throws -> AccountService {
        guard App.takesIssuer else {
            if options.issuer != nil || options.clientID != nil {
                throw AccountError(.invalidArgument, "this tool knows its service: leave --issuer and --client-id away")
            }
            return AccountService(scopes: options.scopes)
        }
        let remembered = try await preferences.service(of: session)
        guard let issuer = options.issuer ?? remembered?.issuer else {
            throw AccountError(
                .invalidArgument, "say where to sign in: add --issuer https://auth.example.com (and --client-id)")
        }
        let isSame = issuer == remembered?.issuer
        return AccountService(
            issuer: issuer, clientID: options.clientID ?? (isSame ? remembered?.clientID : nil),
            scopes: options.scopes.isEmpty && isSame ? remembered?.scopes ?? [] : options.scopes)
    }

    // MARK: Output

    /// Says something to a person, on standard error.
    func say(_ text: String) { Terminal.writeLine(text, to: .error) }

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
        do {
            try await run(in: try await CommandContext(options))
        } catch let error as AccountError {
            if options.json { try JSONDocument.print(ErrorDocument(error)) }
            Terminal.writeLine("\(CommandLine.arguments.toolName): \(error)", to: .error)
            throw ExitStatus.code(of: error)
        } catch is Terminal.Interrupted {
            throw ExitCode(130)
        }
    }
}

extension [String] {
    /// The words up to and with `account`: how a person calls these commands.
    fileprivate var toolName: String {
        let name = first.map { String($0.split(separator: "/").last ?? "account") } ?? "account"
        return dropFirst().first == "account" ? name + " account" : name
    }
}
