public import AccountKit
public import Logging

/// What the commands must know of the app that they are part of.
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
    /// The app's identifier, such as `com.example.gists`: it names the app's folders, and is bound into its archives.
    static var identifier: String { get }

    /// What the app's environment variables begin with, such as `GISTS` for `GISTS_HOME`, `GISTS_SESSION` and
    /// `GISTS_TOKEN`: letters, digits and underscores, and no digit at the start. By default the last part of
    /// ``identifier``; an app whose identifier ends otherwise, such as `com.example.2do`, must say it.
    static var environmentPrefix: String { get }

    /// Whether the user says which service to sign in to, with `--issuer`.
    static var acceptsIssuer: Bool { get }

    /// What `login --help` says beside its own: what the app sends where nobody says otherwise, and what it takes from the
    /// environment. Empty if there is nothing to say.
    static var signInHelp: String { get }

    /// Makes the authority for a service; it must not touch the network yet.
    ///
    /// - Parameters:
    ///   - service: What the user said, or what a signed-in account was issued by. Empty if ``acceptsIssuer`` is `false`.
    ///   - timeout: How long one request may take.
    ///   - logger: Where to log requests, if the user asked for that; nothing secret may be logged.
    /// - Throws: `AccountError.Code.invalidArgument` if the service's address is not one.
    static func authority(
        for service: AccountService, timeout: Duration, logger: Logger?
    ) throws(AccountError) -> any AccountAuthority

    /// Where tokens of a service may be sent to by other programs, such as git: a sign-in makes a rule for each of these URLs.
    ///
    /// For any other URL a person makes a rule, with `rule add`.
    static func tokenURLs(of service: AccountService) -> [String]

    /// What the app keeps for the signed-in user besides the account, such as an `OfflineCollection`: signing out asks before changes
    /// are lost that were not sent, and removes it.
    ///
    /// - Throws: `notSignedIn` if nobody is: then there is nothing.
    static func linkedStorage(of store: AccountStore) async throws -> (any AccountLinkedStorage)?

    /// The storage of a session at the location that `--store` or `<PREFIX>_STORE` names, such as an etcd cluster; where neither
    /// does, or it is `file:`, sessions are kept in files.
    ///
    /// - Parameters:
    ///   - location: What the option or the variable has.
    ///   - session: Which of several sign-ins.
    ///   - container: The app's folders.
    ///   - logger: Where to log, if the user asked for that; nothing secret may be logged.
    /// - Throws: `AccountError.Code.invalidArgument` if the app knows no such storage.
    static func storage(
        at location: String, of session: SessionName, in container: AppContainer, logger: Logger?
    ) throws(AccountError) -> any ArchiveStorage

    /// The sessions that a storage at the location that `--store` or `<PREFIX>_STORE` names keeps of this app, the default one
    /// first.
    ///
    /// - Throws: What ``storage(at:of:in:logger:)`` throws, and what reading it does.
    static func sessions(
        at location: String, in container: AppContainer, logger: Logger?
    ) async throws -> [SessionName]

    /// Reads what an older app left behind; `nil` if the app has no use for that, and then there is no `import` command.
    static var importer: (@Sendable (_ path: String) throws(AccountError) -> ImportedLogin)? { get }
}

extension AccountApplication {
    /// The last part of the identifier in capitals: `GISTS` for `com.example.gists`.
    public static var environmentPrefix: String {
        let name = identifier.split(separator: ".").last ?? "ACCOUNT"
        return String(name.uppercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
    }

    /// The app knows its one service.
    public static var acceptsIssuer: Bool { false }

    /// There is nothing to say.
    public static var signInHelp: String { "" }

    /// None: a person makes the rules.
    public static func tokenURLs(of service: AccountService) -> [String] { [] }

    /// There is nothing.
    public static func linkedStorage(of store: AccountStore) async throws -> (any AccountLinkedStorage)? { nil }

    /// The app keeps its sessions in files only.
    public static func storage(
        at location: String, of session: SessionName, in container: AppContainer, logger: Logger?
    ) throws(AccountError) -> any ArchiveStorage {
        throw AccountError(
            .invalidArgument,
            "this tool keeps sign-ins in files only: omit --store, or unset \(storeVariable)")
    }

    /// The app does not list them.
    public static func sessions(
        at location: String, in container: AppContainer, logger: Logger?
    ) async throws -> [SessionName] {
        throw AccountError(
            .invalidArgument, "this tool cannot list the sign-ins of a store: name one, with --session")
    }

    /// There is nothing to import.
    public static var importer: (@Sendable (_ path: String) throws(AccountError) -> ImportedLogin)? { nil }
}

/// A service that one can sign in to, as the user names it.
public struct AccountService: Sendable, Hashable, Codable {
    /// The name of a service that the app knows, such as `github`; which these are is the app's affair.
    public var name: String?

    /// The issuer's URL (RFC 8414, section 2).
    public var issuer: String?

    /// This app's client identifier at the service (RFC 6749, section 2.2).
    public var clientID: String?

    /// What to ask for: in addition to what the authority asks for by default, or instead of that; see ``usesDefaultScopes``.
    public var scopes: [String]

    /// Whether to ask for what the authority asks for by default, too.
    public var usesDefaultScopes: Bool

    /// The scopes that take the place of the authority's default ones; `nil` if it asks for those, too.
    public var exactScopes: [String]? { usesDefaultScopes ? nil : scopes }

    /// The scopes to ask for in addition to the authority's default ones.
    public var additionalScopes: [String] { usesDefaultScopes ? scopes : [] }

    /// Where the service sends the browser back to, for one that takes a registered URL only to the letter; `nil` leaves it to
    /// the authority.
    public var redirectURI: String?

    /// Whom the tokens are for, at services that want to know it by this name.
    public var audience: String?

    /// Whom the tokens are for (RFC 8707).
    public var resources: [String]

    /// Further parameters of the authorization request, such as `prompt` or `login_hint`.
    public var parameters: [String: String]

    /// How the client sends its secret: `client_secret_basic` or `client_secret_post` (OpenID Connect Core, section 9); `nil`
    /// leaves the choice to the authority.
    public var clientAuthentication: String?

    /// The name that the user gave, for a service that does not say who signed in. Not stored.
    public var username: String?

    /// Whether a client secret from the environment may be sent to this service: at a sign-in, and for an account of an earlier
    /// version, which does not say whether there is one. Any other account holds its client's secret. Not stored.
    public private(set) var acceptsGivenSecret = true

    /// Creates a service; each parameter is described with the property of its name. With `nil`, ``usesDefaultScopes`` is `true`
    /// only if no scopes are named.
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

    /// The service that an account belongs to. The scopes are those that the sign-in asked for, never those that the
    /// service says that it granted.
    ///
    /// - Parameter remembered: The service that was signed in to last. It counts if it has the account's issuer.
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

    /// Reads a service, also as an earlier version wrote it.
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

/// What an older app left behind.
public struct ImportedLogin: Sendable {
    /// The account.
    public var account: Account

    /// What could not be taken over, in words.
    public var warnings: [String]

    /// Creates an imported login.
    public init(account: Account, warnings: [String] = []) {
        self.account = account
        self.warnings = warnings
    }
}
