import AccountCommands
import AccountFleet
import AccountHTTP
import AccountImport
import AccountKit
import ArgumentParser
import CAccountKitShims
import Logging

/// The `account` command: the commands of AccountCommands for any OAuth 2.0 or OpenID Connect service.
@main
enum AccountTool {
    static func main() {
        // Tokens and keys are in this process's memory for a moment. If the kernel does not
        // support the request, only that protection is missing.
        try? SystemCall.forbidDumps()
        accountkit_forbid_name_plugins()
        AccountCommand<StandAlone>.runProcess()
    }
}

enum StandAlone: AccountApplication {
    static let identifier = "account"
    static let environmentPrefix = "ACCOUNT"
    static let acceptsIssuer = true

    /// Unless `--client-id` names another.
    private static let defaultClientID = "account-cli"

    /// Some services issue a secret with the client identifier, although every copy of a program has it.
    private static let secretVariable = "ACCOUNT_CLIENT_SECRET"

    static let signInHelp = """
        Without --client-id, the tool calls itself \(defaultClientID); a service that is known by name wants an identifier \
        that you get there. If a service has given you a client secret too, set \(secretVariable) at the sign-in: it \
        is kept encrypted with the account, and sent to that service only. To replace it, sign in again.
        """

    static func authority(
        for service: AccountService, timeout: Duration, logger: Logger?
    ) throws(AccountError) -> any AccountAuthority {
        let known = service.name.flatMap { KnownService.named($0) }
        if service.name != nil, known == nil {
            let names = KnownService.all.map(\.name).joined(separator: ", ")
            throw AccountError(
                .invalidArgument,
                "no service is known by that name, only these: \(names). For any other, omit --service and give its "
                    + "address with --issuer")
        }
        guard let issuer = service.issuer ?? known?.issuer else {
            throw AccountError(
                .misconfigured, "it is not known which service this account belongs to: sign in again with --issuer")
        }
        // The known services want their programs registered.
        let home = try KnownService.at(issuer)
        return try OAuthAuthority(
            issuer: issuer, clientID: service.clientID ?? (known == nil && home == nil ? defaultClientID : nil),
            clientSecret: service.acceptsGivenSecret ? Environment.value(secretVariable).map { Secret($0) } : nil,
            scopes: service.exactScopes, additionalScopes: service.additionalScopes,
            options: OAuthRequestOptions(
                redirectURI: service.redirectURI, audience: service.audience, resources: service.resources,
                parameters: service.parameters.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) },
                clientAuthentication: service.clientAuthentication.flatMap { ClientAuthentication(rawValue: $0) },
                username: service.username),
            service: known, timeout: timeout, logger: logger)
    }

    static func storage(
        at location: String, of session: SessionName, in container: AppContainer, logger: Logger?
    ) throws(AccountError) -> any ArchiveStorage {
        try EtcdArchiveStorage(
            location: EtcdLocation(location), credentials: .fromEnvironment(), container: container, session: session,
            logger: logger)
    }

    static func sessions(
        at location: String, in container: AppContainer, logger: Logger?
    ) async throws -> [SessionName] {
        try await EtcdArchiveStorage.sessions(
            at: EtcdLocation(location), credentials: .fromEnvironment(), in: container, logger: logger)
    }

    static func tokenURLs(of service: AccountService) -> [String] {
        guard let issuer = service.issuer else { return [] }
        // What is no issuer has no hosts.
        let known = service.name.flatMap { KnownService.named($0) } ?? (try? KnownService.at(issuer))
        return known?.tokenURLs(at: issuer) ?? []
    }

    static var importer: (@Sendable (String) throws(AccountError) -> ImportedLogin)? {
        { path throws(AccountError) in
            let imported = try LegacyArchive.read(contentsOf: path, now: SystemWallClock().now)
            return ImportedLogin(account: imported.account, warnings: imported.warnings)
        }
    }
}
