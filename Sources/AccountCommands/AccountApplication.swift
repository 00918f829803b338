public import AccountKit
public import Logging
import AccountSupport

/// An app with account commands.
///
/// ```swift
/// enum Gists: AccountApplication {
///     static let identifier = "com.example.gists"
///     static func authority(with options: AuthorityOptions) -> any AccountAuthority { GistsLogin() }
/// }
///
/// @main struct GistsTool: AsyncParsableCommand {
///     static let configuration = CommandConfiguration(commandName: "gists", subcommands: [AccountCommand<Gists>.self])
///     static func main() { runTool() }
/// }
/// ```
public protocol AccountApplication: Sendable {
    /// The identifier of the app, such as `com.example.gists`. The names of the app's folders contain the identifier,
    /// and archives are bound to it.
    static var identifier: String { get }

    /// The prefix of the app's environment variables, such as `GISTS` for `GISTS_HOME`, `GISTS_SESSION` and
    /// `GISTS_TOKEN`. It consists of letters, digits and underscores, and must not begin with a digit. The default is
    /// the last part of ``identifier`` in capitals. If that is not valid, as for `com.example.2do`, the app must set
    /// the prefix.
    static var environmentPrefix: String { get }

    /// The version of the app, such as `1.2.0`, for `account --version`. If it is empty, the command prints only the version of
    /// AccountKit.
    static var version: String { get }

    /// Whether the user chooses the service, by its URL or its name.
    static var acceptsIssuer: Bool { get }

    /// The services that the user can choose by name, if ``acceptsIssuer`` is `true`. The commands pass the issuer of a chosen
    /// service to ``authority(with:)``, and refuse other names.
    static var services: [ServiceDescription] { get }

    /// The client ID for services at which the user did not register a client; `nil` if each service requires a
    /// registration.
    static var defaultClientID: String? { get }

    /// Text for `login --help`, such as the app's defaults and environment variables; empty for none.
    static var signInHelp: String { get }

    /// Commands to add to the account commands, such as `[.helpers]` of AccountHelpers.
    static var commandGroups: [AccountCommandGroup<Self>] { get }

    /// Returns the authority for the app's service, or for the service in `options`, without using the network.
    ///
    /// - Throws: `AccountError.Code.invalidArgument` if the address of the service is invalid.
    static func authority(with options: AuthorityOptions) throws(AccountError) -> any AccountAuthority

    /// Returns the URLs to which other programs, such as git, may send tokens of a service. A sign-in creates a rule
    /// for each.
    ///
    /// The user creates rules for other URLs with `rule add`.
    static func tokenURLs(of service: AccountService) -> [String]

    /// Returns the data that the app stores for the signed-in user, such as an `OfflineCollection`. Before a sign-out
    /// discards unsent changes, it asks the user. A sign-out then removes the data.
    ///
    /// - Throws: `notSignedIn` if no user is signed in, because then there is no data.
    static func linkedStorage(of store: AccountStore) async throws -> (any AccountLinkedStorage)?

    /// Returns the store of a session at the location of `--store` or `<PREFIX>_STORE`, such as an etcd cluster. If
    /// there is no location or the location is `file:`, the commands store sessions in files and don't call this
    /// method.
    ///
    /// - Parameters:
    ///   - location: The value of the option or the variable.
    ///   - session: The session.
    ///   - container: The folders of the app.
    ///   - keySources: The sources of the archive's keys, which the user configured.
    ///   - logger: The logger, if the user requested logging. Do not log secrets.
    /// - Throws: `AccountError.Code.invalidArgument` if the app does not support the location.
    static func store(
        at location: String, of session: SessionName, in container: AppContainer, keySources: [KeySource],
        logger: Logger?
    ) throws(AccountError) -> AccountStore

    /// Returns the sessions of this app at the location of `--store` or `<PREFIX>_STORE`, with the default session
    /// first.
    ///
    /// - Throws: The errors of ``store(at:of:in:keySources:logger:)``, or an error of the storage.
    static func sessions(
        at location: String, in container: AppContainer, logger: Logger?
    ) async throws -> [SessionName]
}

extension AccountApplication {
    /// Returns the authority for the app's service, with the default options.
    public static func authority() throws(AccountError) -> any AccountAuthority {
        try authority(with: AuthorityOptions())
    }

    /// Returns the last part of the identifier in capitals, such as `GISTS` for `com.example.gists`.
    public static var environmentPrefix: String {
        let name = identifier.split(separator: ".").last ?? "ACCOUNT"
        return String(name.uppercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
    }

    /// Returns an empty text: by default, only the version of AccountKit is known.
    public static var version: String { "" }

    /// Returns `false`: by default, the app has one service.
    public static var acceptsIssuer: Bool { false }

    /// Returns no groups: by default, there are no other commands.
    public static var commandGroups: [AccountCommandGroup<Self>] { [] }

    /// Returns no services: by default, the user enters the URL of the service.
    public static var services: [ServiceDescription] { [] }

    /// Returns `nil`: by default, each service requires a registration.
    public static var defaultClientID: String? { nil }

    /// Returns an empty text: by default, there is no help.
    public static var signInHelp: String { "" }

    /// Returns no URLs: by default, the user creates all rules.
    public static func tokenURLs(of service: AccountService) -> [String] { [] }

    /// Returns `nil`: by default, there is no data.
    public static func linkedStorage(of store: AccountStore) async throws -> (any AccountLinkedStorage)? { nil }

    /// Throws an error: by default, sessions are stored only in files.
    public static func store(
        at location: String, of session: SessionName, in container: AppContainer, keySources: [KeySource],
        logger: Logger?
    ) throws(AccountError) -> AccountStore {
        throw AccountError(
            .invalidArgument,
            "this tool stores sessions only in files", hint: "omit --store, or unset \(storeVariable)")
    }

    /// Throws an error: by default, the app does not list sessions.
    public static func sessions(
        at location: String, in container: AppContainer, logger: Logger?
    ) async throws -> [SessionName] {
        throw AccountError(
            .invalidArgument, "this tool cannot list the sessions of a store", hint: "choose a session with --session")
    }
}
