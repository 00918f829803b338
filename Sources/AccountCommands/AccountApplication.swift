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
/// }
/// ```
public protocol AccountApplication: Sendable {
    /// The app's identifier, such as `com.example.gists`: it names the app's folders, and is bound into its archives.
    static var identifier: String { get }

    /// What the app's environment variables begin with, such as `GISTS` for `GISTS_HOME`, `GISTS_SESSION` and
    /// `GISTS_TOKEN`.
    static var environmentPrefix: String { get }

    /// Whether the user says which service to sign in to, with `--issuer`.
    static var takesIssuer: Bool { get }

    /// Makes the authority for a service; it must not touch the network yet.
    ///
    /// - Parameters:
    ///   - service: What the user said, or what a signed-in account was issued by. Empty if ``takesIssuer`` is `false`.
    ///   - timeout: How long one request may take.
    ///   - logger: Where to log requests, if the user asked for that; nothing secret may be logged.
    /// - Throws: `AccountError.Code.invalidArgument` if the service's address is not one.
    static func authority(
        for service: AccountService, timeout: Duration, logger: Logger?
    ) throws(AccountError) -> any AccountAuthority

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
    public static var takesIssuer: Bool { false }

    /// There is nothing to import.
    public static var importer: (@Sendable (_ path: String) throws(AccountError) -> ImportedLogin)? { nil }
}

/// A service that one can sign in to, as the user names it.
public struct AccountService: Sendable, Hashable, Codable {
    /// The name of a service that the app knows, such as `github`; which these are is the app's affair.
    public var name: String?

    /// The issuer's address (RFC 8414, section 2).
    public var issuer: String?

    /// This app's client identifier at the service (RFC 6749, section 2.2).
    public var clientID: String?

    /// What to ask for; empty leaves it to the authority.
    public var scopes: [String]

    /// Puts a service together.
    public init(name: String? = nil, issuer: String? = nil, clientID: String? = nil, scopes: [String] = []) {
        self.name = name
        self.issuer = issuer
        self.clientID = clientID
        self.scopes = scopes
    }

    /// The service that an account belongs to.
    ///
    /// - Parameters:
    ///   - account: The account. It says where the service is.
    ///   - remembered: The service that was signed in to last. If that is there too, it says which one it is.
    init(of account: Account, remembered: AccountService?) {
        self.init(
            name: remembered?.issuer == account.issuer ? remembered?.name : nil, issuer: account.issuer,
            clientID: account.credentials.clientID, scopes: account.credentials.scopes)
    }
}

/// What an older app left behind.
public struct ImportedLogin: Sendable {
    /// The account.
    public var account: Account

    /// What could not be taken over, in words.
    public var warnings: [String]

    /// Puts an imported login together.
    public init(account: Account, warnings: [String] = []) {
        self.account = account
        self.warnings = warnings
    }
}

extension AccountApplication {
    /// A token to use instead of the archive.
    static var tokenVariable: String { environmentPrefix + "_TOKEN" }

    /// The archive's key, if it is to come from the environment.
    static var keyVariable: String { environmentPrefix + "_KEY" }

    /// What no program gets that is run from here: a browser, one that has a key, one that draws a code.
    static var secretVariables: [String] { [tokenVariable, keyVariable, environmentPrefix + "_CLIENT_SECRET"] }
}
