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

/// A service, with the options of a sign-in.
public struct AccountService: Sendable, Equatable, Codable {
    /// The name of one of the app's ``AccountApplication/services``, such as `github`; `nil` if the user passed only a URL.
    public internal(set) var name: String?

    /// The URL of an API whose authorization server the user signs in to (RFC 9728); `nil` if the user named the
    /// service itself. An app creates an authority that asks the API, such as an `OAuthAuthority`.
    public var url: String?

    /// The issuer's URL (RFC 8414, section 2). Next to ``url``, the authorization server that the user named, or the one
    /// that issued the account. If the user chose a service by its ``name``, the issuer of its description, unless the user
    /// named another address.
    public var issuer: String?

    /// Whether the user named the ``issuer`` next to the ``url``, so that the next sign-in at this URL uses it again.
    package var isIssuerNamed: Bool?

    /// The client ID of the app at the service (RFC 6749, section 2.2).
    public var clientID: String?

    /// The scopes to request, in addition to the authority's default scopes or instead of them.
    package var scopes: [String] = []

    /// Whether to request the authority's default scopes as well.
    package var usesDefaultScopes = true

    /// The scopes that replace the authority's default scopes; `nil` if the defaults are requested as well.
    public var exactScopes: [String]? { usesDefaultScopes ? nil : scopes }

    /// The scopes to request in addition to the authority's default scopes.
    public var additionalScopes: [String] { usesDefaultScopes ? scopes : [] }

    /// The redirect URI, for a service that accepts only registered URIs. With `nil`, the authority chooses the URI.
    public var redirectURI: String?

    /// The `audience` of the tokens, for services that support this parameter.
    public var audience: String?

    /// The APIs that the tokens are for (RFC 8707).
    public var resources: [String] = []

    /// Further parameters of the authorization request, such as `prompt` or `login_hint`.
    public var parameters: [String: String] = [:]

    /// The method by which the client sends its secret: `client_secret_basic` or `client_secret_post` (OpenID Connect
    /// Core, section 9). With `nil`, the authority chooses the method.
    public var clientAuthentication: String?

    /// The URL of a client ID metadata document (draft-ietf-oauth-client-id-metadata-document).
    public internal(set) var clientMetadataURL: String?

    /// Whether a sign-in binds the tokens to a key of the session (RFC 9449). With `nil`, the authority decides.
    public var bindsTokens: Bool?

    /// Whether requests leave out the parameter `resource` (RFC 8707), because the service refuses it. With `nil`, the
    /// authority decides.
    public var omitsResource: Bool?

    /// Whether to register the app again with a service that registers apps (RFC 7591). It is not stored.
    package var registersAgain = false

    /// The user name, for a service that does not identify the user. This property is not stored.
    public var username: String?

    /// The client secret that the user entered, or the one in `<PREFIX>_CLIENT_SECRET` if it may belong to this client.
    /// AccountKit encrypts the secret and stores it with the account, not with the service. For a client without a user,
    /// it is not stored.
    public var clientSecret: Secret?

    /// The absolute path of the private key with which the client authenticates, instead of with a secret; `nil` without
    /// a key. The account of a client contains the path, so it is not stored with the service.
    public internal(set) var clientKeyPath: String?

    /// The key ID in the assertions that the key signs (RFC 7515, section 4.1.4).
    public internal(set) var clientKeyID: String?

    /// The audience of these assertions, or of the assertions of a workload. With `nil`, it is the issuer.
    public internal(set) var clientAssertionAudience: String?

    /// The source of the assertions of a workload, as words; `nil` for other sign-ins. The account contains the source,
    /// so it is not stored with the service.
    package var workload: [String]?

    /// The grant of a sign-in with an assertion, or its `grant_type`. If `nil`, the authority chooses it.
    package var workloadGrant: String?

    /// Whether the commands may send a client secret from the environment to this service. They send it at a sign-in,
    /// and for an account that is stored without its client secret, if the user chose its session. Other
    /// accounts contain their client secret. This property is not stored.
    private(set) var acceptsGivenSecret = true

    /// Creates a service, with the issuer, the client ID of the app there, and the ``url`` of an API.
    public init(issuer: String? = nil, clientID: String? = nil, url: String? = nil) {
        self.issuer = issuer
        self.clientID = clientID
        self.url = url
    }

    /// Creates the service of an account, with the requested scopes instead of the granted scopes.
    ///
    /// - Parameters:
    ///   - account: The account.
    ///   - remembered: The service of the last sign-in, which is used only if its issuer is the account's issuer.
    ///   - acceptsGivenSecret: Whether the client secret in the environment may belong to the account.
    init(of account: Account, remembered: AccountService?, acceptsGivenSecret: Bool = false) {
        self = remembered?.issuer == account.issuer ? remembered ?? AccountService() : AccountService()
        // Another program may have signed in since then, for another API.
        let resources = account.credentials.resources
        if let url, !resources.isEmpty,
            !resources.contains(where: { self.resources.contains($0) || Self.covers($0, url) })
        {
            self.url = nil
        }
        issuer = account.issuer
        clientID = account.credentials.clientID
        let isUnknown = account.credentials.clientSecret == .unknown && account.credentials.machine == nil
        self.acceptsGivenSecret = acceptsGivenSecret && isUnknown
        clientKey = account.credentials.machine?.key
        workload = account.credentials.machine?.workload
        if workload != nil { clientAssertionAudience = account.credentials.machine?.assertionAudience }
        workloadGrant = workload == nil ? nil : account.credentials.machine?.type
    }

    /// Adds the client secret in the environment if it may belong to this client. By the URL of an API and without a client
    /// ID, the tool registers itself.
    mutating func accept(_ secret: Secret) {
        guard acceptsGivenSecret, clientSecret == nil, url == nil || clientID != nil else { return }
        clientSecret = secret
    }

    private static func covers(_ resource: String, _ url: String) -> Bool {
        if resource == url { return true }
        let (resource, url) = (resource.prefix { $0 != "?" }, url.prefix { $0 != "?" })
        guard let resource = try? RuleURL(String(resource)), let url = try? RuleURL(String(url)) else { return false }
        return resource.covers(url)
    }

    /// The file with the client's key, and the options of its assertions.
    var clientKey: ClientKeyFile? {
        get {
            clientKeyPath.map { ClientKeyFile(path: $0, id: clientKeyID, audience: clientAssertionAudience) }
        }
        set {
            clientKeyPath = newValue?.path
            clientKeyID = newValue?.id
            clientAssertionAudience = newValue?.audience
        }
    }
}

extension AccountService {
    private enum CodingKeys: CodingKey {
        case name, issuer, clientID, scopes, usesDefaultScopes, redirectURI, audience, resources, parameters
        case clientAuthentication, url, clientMetadataURL, bindsTokens, isIssuerNamed, omitsResource
    }
}

/// A service that `login` offers by name.
public struct ServiceDescription: Sendable {
    package var name: String
    var otherNames: [String]
    var title: String
    package var issuer: String
    var needsIssuer: Bool
    var registrationPage: String
    var registrationAdvice: String?
    var supportsBrowser: Bool
    var hasClientSecret: Bool
    var endedSessionNote: String?

    /// Creates a description.
    ///
    /// - Parameters:
    ///   - name: The name on the command line, such as `github`.
    ///   - otherNames: Other names for the service, such as one that an earlier version of the app stored with sessions.
    ///   - title: The name to show, such as `GitHub`.
    ///   - issuer: The issuer's URL, in the spelling that the service's authority uses; or its form, if the service needs an
    ///     issuer.
    ///   - needsIssuer: Whether the user must name the issuer, because each customer of the service has one.
    ///   - registrationPage: The page on which the user registers an app, to obtain a client ID.
    ///   - registrationAdvice: The settings to enter on the `registrationPage`; `nil` if the service needs none.
    ///   - supportsBrowser: Whether the service supports a sign-in with the browser.
    ///   - hasClientSecret: Whether the service requires a client secret in addition to the client ID.
    ///   - endedSessionNote: Why the service may end sessions that the user did not revoke, as part of a sentence; `nil` if
    ///     nothing is known.
    public init(
        name: String, otherNames: [String] = [], title: String, issuer: String, needsIssuer: Bool = false,
        registrationPage: String, registrationAdvice: String? = nil, supportsBrowser: Bool = true,
        hasClientSecret: Bool = false, endedSessionNote: String? = nil
    ) {
        self.name = name
        self.otherNames = otherNames
        self.title = title
        self.issuer = issuer
        self.needsIssuer = needsIssuer
        self.registrationPage = registrationPage
        self.registrationAdvice = registrationAdvice
        self.supportsBrowser = supportsBrowser
        self.hasClientSecret = hasClientSecret
        self.endedSessionNote = endedSessionNote
    }

    /// Returns the issuer.
    ///
    /// - Throws: `invalidArgument` if the user must name it.
    func defaultIssuer() throws(AccountError) -> String {
        guard needsIssuer else { return issuer }
        throw AccountError(
            .invalidArgument, "\(title) has an address for each customer", hint: "pass this URL: \(issuer)")
    }

    /// Returns whether a name means this service, in any case.
    func isNamed(_ name: String) -> Bool {
        let name = name.lowercased()
        return self.name == name || otherNames.contains(name)
    }
}

extension AccountApplication {
    /// Returns the service with a name, in any case.
    static func service(named name: String?) -> ServiceDescription? {
        name.flatMap { name in services.first { $0.isNamed(name) } }
    }

    /// Returns the service that the user chose by its name.
    ///
    /// - Throws: `invalidArgument` if the app has no service with this name.
    static func chosenService(named name: String) throws(AccountError) -> ServiceDescription {
        if let service = service(named: name) { return service }
        guard !services.isEmpty else {
            throw AccountError(
                .invalidArgument, "this tool knows no service by its name", hint: "omit --service, and pass a URL")
        }
        let names = services.map(\.name)
        throw AccountError(
            .invalidArgument, "there is no known service '\(name.shown)'",
            hint: (Suggestion.nearest(to: name, among: names).map { "did you mean '\($0)'? T" } ?? "t")
                + "he known services are \(names.joined(separator: ", ")). For any other service, omit --service, and pass its URL"
        )
    }

    /// Returns the name of the service at an address without `https://`, such as `github.com`, or with a name.
    static func service(at address: String) -> String? {
        let host = String(address.lowercased().withoutEndingSlash)
        let found = services.first { $0.issuer == "https://\(host)" } ?? service(named: host)
        return found?.name
    }

    /// Returns whether two names mean the same service, which may have several.
    static func isSameService(_ one: String?, _ other: String?) -> Bool {
        one == other || service(named: one).map { $0.name == service(named: other)?.name } ?? false
    }
}
