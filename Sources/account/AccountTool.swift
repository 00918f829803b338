import AccountCommands
import AccountHTTP
import AccountImport
import AccountKit
import ArgumentParser
import Logging

/// The `account` command: the commands of AccountCommands for any OAuth 2.0 or OpenID Connect service.
@main
enum AccountTool {
    static func main() async {
        await AccountCommand<StandAlone>.main()
    }
}

/// The stand-alone command as an app.
enum StandAlone: AccountApplication {
    static let identifier = "account"
    static let environmentPrefix = "ACCOUNT"
    static let takesIssuer = true

    /// What this tool calls itself at a service, unless `--client-id` says otherwise.
    private static let defaultClientID = "account-cli"

    static func authority(
        for service: AccountService, timeout: Duration, logger: Logger?
    ) throws(AccountError) -> any AccountAuthority {
        guard let issuer = service.issuer else {
            throw AccountError(
                .misconfigured, "it is not known which service this account belongs to: sign in again with --issuer")
        }
        let clientID = service.clientID ?? defaultClientID
        if service.scopes.isEmpty {
            return try OAuthAuthority(issuer: issuer, clientID: clientID, timeout: timeout, logger: logger)
        }
        return try OAuthAuthority(
            issuer: issuer, clientID: clientID, scopes: service.scopes, timeout: timeout, logger: logger)
    }

    static var importer: (@Sendable (String) throws(AccountError) -> ImportedLogin)? {
        { path throws(AccountError) in
            let imported = try LegacyArchive.read(contentsOf: path, now: SystemWallClock().now)
            return ImportedLogin(account: imported.account, warnings: imported.warnings)
        }
    }
}
