public import AccountKit
public import Logging

/// An app with account commands.
///
/// ```swift
/// enum Gists: AccountApplication {
///     static let identifier = "com.example.gists"
///     static func authority(for: AccountService, timeout: Duration, logger: Logger?) -> any AccountAuthority { GistsLogin() }
/// }
///
/// @main struct GistsTool: AsyncParsableCommand {
///     static let configuration = CommandConfiguration(commandName: "gists", subcommands: [AccountCommand<Gists>.self])
///     static func main() { runTool() }
/// }
/// ```
public protocol AccountApplication: Sendable {
    /// The identifier of the app, such as `com.example.gists`. It names the app's folders, and archives are bound to it.
    static var identifier: String { get }

    /// The prefix of the app's environment variables, such as `GISTS` for `GISTS_HOME`, `GISTS_SESSION` and `GISTS_TOKEN`: letters, digits
    /// and underscores, without a digit at the start. The default is the last part of ``identifier`` in capitals. An app whose identifier
    /// ends otherwise, such as `com.example.2do`, must set it.
    static var environmentPrefix: String { get }

    /// Whether the user names the service with `--issuer`.
    static var acceptsIssuer: Bool { get }

    /// Text for `login --help`, such as the app's defaults and its environment variables; empty for none.
    static var signInHelp: String { get }

    /// Returns the authority for a service, without using the network.
    ///
    /// - Parameters:
    ///   - service: The service that the user named, or that issued the stored account. Empty if ``acceptsIssuer`` is `false`.
    ///   - timeout: How long a request may take.
    ///   - logger: The logger for requests, if the user asked for that. Do not log secrets.
    /// - Throws: `AccountError.Code.invalidArgument` if the address of the service is invalid.
    static func authority(
        for service: AccountService, timeout: Duration, logger: Logger?
    ) throws(AccountError) -> any AccountAuthority

    /// Returns the URLs to which other programs, such as git, may send tokens of a service. A sign-in creates a rule for each.
    ///
    /// For other URLs the user creates a rule with `rule add`.
    static func tokenURLs(of service: AccountService) -> [String]

    /// Returns the data that the app stores for the signed-in user, such as an `OfflineCollection`. A sign-out asks before unsent changes
    /// are lost, and then removes the data.
    ///
    /// - Throws: `notSignedIn` if no user is signed in, so that there is no data.
    static func linkedStorage(of store: AccountStore) async throws -> (any AccountLinkedStorage)?

    /// Returns the storage of a session at the location of `--store` or `<PREFIX>_STORE`, such as an etcd cluster. Without a location, or
    /// with `file:`, sessions are stored in files, and this is not called.
    ///
    /// - Parameters:
    ///   - location: The value of the option or the variable.
    ///   - session: The session.
    ///   - container: The folders of the app.
    ///   - logger: The logger, if the user asked for that. Do not log secrets.
    /// - Throws: `AccountError.Code.invalidArgument` if the app does not support the location.
    static func storage(
        at location: String, of session: SessionName, in container: AppContainer, logger: Logger?
    ) throws(AccountError) -> any ArchiveStorage

    /// Returns the sessions of this app at the location of `--store` or `<PREFIX>_STORE`, the default one first.
    ///
    /// - Throws: As ``storage(at:of:in:logger:)``, or an error of the storage.
    static func sessions(
        at location: String, in container: AppContainer, logger: Logger?
    ) async throws -> [SessionName]

    /// Reads the login of an older app; `nil` for an app without an `import` command.
    static var importer: (@Sendable (_ path: String) throws(AccountError) -> ImportedLogin)? { get }
}

extension AccountApplication {
    /// The default: the last part of the identifier in capitals, such as `GISTS` for `com.example.gists`.
    public static var environmentPrefix: String {
        let name = identifier.split(separator: ".").last ?? "ACCOUNT"
        return String(name.uppercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
    }

    /// The default: the app has one service.
    public static var acceptsIssuer: Bool { false }

    /// The default: no text.
    public static var signInHelp: String { "" }

    /// The default: the user creates all rules.
    public static func tokenURLs(of service: AccountService) -> [String] { [] }

    /// The default: no data.
    public static func linkedStorage(of store: AccountStore) async throws -> (any AccountLinkedStorage)? { nil }

    /// The default: sessions are stored in files only.
    public static func storage(
        at location: String, of session: SessionName, in container: AppContainer, logger: Logger?
    ) throws(AccountError) -> any ArchiveStorage {
        throw AccountError(
            .invalidArgument,
            "this tool keeps sign-ins in files only: omit --store, or unset \(storeVariable)")
    }

    /// The default: the app does not list sessions.
    public static func sessions(
        at location: String, in container: AppContainer, logger: Logger?
    ) async throws -> [SessionName] {
        throw AccountError(
            .invalidArgument, "this tool cannot list the sign-ins of a store: name one, with --session")
    }

    /// The default: no `import` command.
    public static var importer: (@Sendable (_ path: String) throws(AccountError) -> ImportedLogin)? { nil }
}

/// A service, with the options of a sign-in.
public struct AccountService: Sendable, Hashable, Codable {
    /// The name of a service that the app knows, such as `github`.
    public var name: String?

    /// The issuer's URL (RFC 8414, section 2).
    public var issuer: String?

    /// The client ID of the app at the service (RFC 6749, section 2.2).
    public var clientID: String?

    /// The scopes to request, in addition to or instead of the authority's default scopes; see ``usesDefaultScopes``.
    public var scopes: [String]

    /// Whether to request the authority's default scopes too.
    public var usesDefaultScopes: Bool

    /// The scopes that replace the authority's default scopes; `nil` if it requests those too.
    public var exactScopes: [String]? { usesDefaultScopes ? nil : scopes }

    /// The scopes in addition to the authority's default scopes.
    public var additionalScopes: [String] { usesDefaultScopes ? scopes : [] }

    /// The redirect URI, for a service that accepts only a registered one; with `nil` the authority chooses.
    public var redirectURI: String?

    /// The `audience` of the tokens, for services that have this parameter.
    public var audience: String?

    /// The APIs of the tokens (RFC 8707).
    public var resources: [String]

    /// Further parameters of the authorization request, such as `prompt` or `login_hint`.
    public var parameters: [String: String]

    /// How the client sends its secret: `client_secret_basic` or `client_secret_post` (OpenID Connect Core, section 9); with `nil` the
    /// authority chooses.
    public var clientAuthentication: String?

    /// The user name, for a service that does not name the user. It is not stored.
    public var username: String?

    /// Whether a client secret from the environment may be sent to this service: at a sign-in, and for an account that an earlier version
    /// stored without its secret. Any other account contains the secret of its client. It is not stored.
    public private(set) var acceptsGivenSecret = true

    /// Creates a service; see the properties. With `nil`, ``usesDefaultScopes`` is `true` only if there are no scopes.
    public init(
        name: String? = nil, issuer: String? = nil, clientID: String? = nil, scopes: [String] = [],
        usesDefaultScopes: Bool? = nil, redirectURI: String? = nil, audience: String? = nil, resources: [String] = [],
        parameters: [String: String] = [:], clientAuthentication: String? = nil
    ) {
        self.name = name
        self.issuer = issuer
        self.clientID = clientID
        self.scopes = scopes
        self.usesDefaultScopes = usesDefaultScopes ?? scopes.isEmpty
        self.redirectURI = redirectURI
        self.audience = audience
        self.resources = resources
        self.parameters = parameters
        self.clientAuthentication = clientAuthentication
    }

    /// Creates the service of an account. The scopes are those that the sign-in requested, not those that the service granted.
    ///
    /// - Parameter remembered: The service of the last sign-in. It is used if it has the issuer of the account.
    init(of account: Account, remembered: AccountService?) {
        self = remembered?.issuer == account.issuer ? remembered ?? AccountService() : AccountService()
        issuer = account.issuer
        clientID = account.credentials.clientID
        acceptsGivenSecret = account.credentials.clientSecret == .unknown
    }
}

extension AccountService {
    private enum CodingKeys: CodingKey {
        case name, issuer, clientID, scopes, usesDefaultScopes, redirectURI, audience, resources, parameters
        case clientAuthentication
    }

    /// Decodes a service, also in the form of an earlier version.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            name: try container.decodeIfPresent(String.self, forKey: .name),
            issuer: try container.decodeIfPresent(String.self, forKey: .issuer),
            clientID: try container.decodeIfPresent(String.self, forKey: .clientID),
            scopes: try container.decode([String].self, forKey: .scopes),
            usesDefaultScopes: try container.decodeIfPresent(Bool.self, forKey: .usesDefaultScopes),
            redirectURI: try container.decodeIfPresent(String.self, forKey: .redirectURI),
            audience: try container.decodeIfPresent(String.self, forKey: .audience),
            resources: try container.decodeIfPresent([String].self, forKey: .resources) ?? [],
            parameters: try container.decodeIfPresent([String: String].self, forKey: .parameters) ?? [:],
            clientAuthentication: try container.decodeIfPresent(String.self, forKey: .clientAuthentication))
    }
}

/// The login of an older app.
public struct ImportedLogin: Sendable {
    /// The account.
    public var account: Account

    /// Messages about values that could not be imported.
    public var warnings: [String]

    /// Creates an imported login.
    public init(account: Account, warnings: [String] = []) {
        self.account = account
        self.warnings = warnings
    }
}
