import AccountCommands
import AccountFleet
import AccountHTTP
import AccountHelpers
import AccountKit
import ArgumentParser
import CAccountKitShims
import AccountSupport
import Logging
import NIOCore

/// The `account` command: the commands of AccountCommands for any OAuth 2.0 or OpenID Connect service.
@main
enum AccountTool {
    static func main() {
        // Prevent memory dumps: this process briefly has tokens and keys in memory. If the kernel does not support the
        // request, only this protection is missing.
        try? SystemCall.forbidDumps()
        accountkit_forbid_name_plugins()
        // One thread is enough for the connections of a command. The default is one thread per processor.
        NIOSingletons.groupLoopCountSuggestion = 1
        AccountCommand<StandAlone>.runProcess()
    }
}

enum StandAlone: AccountApplication {
    static let identifier = "account"
    static let environmentPrefix = "ACCOUNT"
    static let acceptsIssuer = true

    static var defaultClientID: String? { clientID }

    private static let clientID = "account-cli"

    static var services: [ServiceDescription] {
        KnownService.all.map {
            ServiceDescription(
                name: $0.name, otherNames: $0.otherNames, title: $0.title, issuer: $0.issuer,
                needsIssuer: !$0.hasDefaultIssuer, registrationPage: $0.registrationPage,
                registrationAdvice: $0.registrationAdvice,
                supportsBrowser: $0.supportsBrowser, hasClientSecret: $0.wantsClientSecret,
                endedSessionNote: $0.endedSessionNote)
        }
    }

    /// Some services issue a secret with the client ID, although every copy of the program contains the secret.
    private static let secretVariable = "ACCOUNT_CLIENT_SECRET"

    static let signInHelp = """
        Without --client-id, the tool uses the client ID \(clientID). Known services (such as GitHub or Google) \
        require a client ID, which you register with them. If the service also gave you a client secret, set \
        \(secretVariable) at sign-in. The secret is stored encrypted with the account, and sent only to that service. \
        To replace it, sign in again.
        """

    static func authority(with options: AuthorityOptions) throws(AccountError) -> any AccountAuthority {
        let service = options.service
        let known = service.name.flatMap { KnownService.named($0) }
        if let words = service.workload, service.url == nil {
            return try authority(forWorkload: words, with: options)
        }
        if let url = service.url { return try authority(at: url, with: options) }
        guard let issuer = service.issuer else {
            throw AccountError(
                .misconfigured, "the service of this account is unknown",
                hint:
                    "sign in again, and name the service, as in `\(CommandLine.toolName) login https://auth.example.com`; "
                    + "for another session than the default, add --session NAME")
        }
        // The known services require a registered client ID, unless the user may operate them.
        let home = try KnownService.at(issuer)
        let authority = try OAuthAuthority(
            issuer: issuer,
            clientID: service.clientID ?? (known == nil && home?.isSelfHosted != false ? Self.clientID : nil),
            clientSecret: service.clientSecret,
            scopes: service.exactScopes, additionalScopes: service.additionalScopes,
            options: requestOptions(of: service), service: known, timeout: options.timeout, logger: options.logger)
        #if Signatures
        return clientKey(of: service).map { authority.authenticating(with: $0) } ?? authority
        #else
        try refuseClientKey(of: service)
        return authority
        #endif
    }

    #if Signatures
    private static func clientKey(of service: AccountService) -> ClientKey? {
        service.clientKeyPath.map {
            .file($0, id: service.clientKeyID, audience: service.clientAssertionAudience)
        }
    }
    #else
    private static func refuseClientKey(of service: AccountService) throws(AccountError) {
        guard service.clientKeyPath != nil else { return }
        throw AccountError(
            .misconfigured, "this program was built without the package trait Signatures, which client keys require",
            hint: "build it with `--traits Signatures`")
    }
    #endif

    private static func authority(
        forWorkload words: [String], with options: AuthorityOptions
    ) throws(AccountError) -> any AccountAuthority {
        let service = options.service
        guard let issuer = service.issuer else {
            throw AccountError(
                .invalidArgument, "a sign-in with a workload identity requires the address of the service",
                hint: "pass the URL of the service")
        }
        return try OAuthAuthority(
            issuer: issuer,
            machine: .workload(
                workload(words, of: service), clientID: service.clientID, grant: workloadGrant(of: service)),
            scopes: service.scopes, options: requestOptions(of: service), timeout: options.timeout,
            logger: options.logger)
    }

    /// The option is one word, and an archive contains separate words.
    private static func workload(
        _ words: [String], of service: AccountService
    ) throws(AccountError) -> WorkloadSource {
        var source = try words.count == 1 ? WorkloadSource(words[0]) : WorkloadSource(words: words)
        source.audience = service.clientAssertionAudience
        return source
    }

    private static func workloadGrant(of service: AccountService) throws(AccountError) -> WorkloadGrant? {
        guard let name = service.workloadGrant else { return nil }
        if let grant = WorkloadGrant(rawValue: name) ?? WorkloadGrant(type: name) { return grant }
        throw AccountError(
            .invalidArgument, "the value of --workload-grant is unknown",
            hint: "use \(WorkloadGrant.allCases.map(\.rawValue).joined(separator: ", "))")
    }

    /// Without `--client-id`, the tool registers itself, because no API knows ``defaultClientID``.
    private static func authority(
        at url: String, with options: AuthorityOptions
    ) throws(AccountError) -> any AccountAuthority {
        let service = options.service
        var client = OAuthClient(
            identifier: service.clientID, secret: service.clientSecret, metadataURL: service.clientMetadataURL,
            name: "account")
        client.registrations = try clientRegistrations(logger: options.logger)
        if let words = service.workload {
            (client.registrations, client.secret) = (nil, nil)
            try client.identify(by: workload(words, of: service), grant: workloadGrant(of: service))
        }
        #if Signatures
        client.key = clientKey(of: service)
        #else
        try refuseClientKey(of: service)
        #endif
        client.registersAgain = service.registersAgain
        // An account names its issuer too, also if only the API named it.
        let isNamed = service.isIssuerNamed == true
        let authority = try OAuthAuthority(
            api: url, issuer: isNamed ? service.issuer : nil, client: client, scopes: service.exactScopes,
            additionalScopes: service.additionalScopes, options: requestOptions(of: service), timeout: options.timeout,
            logger: options.logger)
        return isNamed ? authority : service.issuer.map(authority.choosing) ?? authority
    }

    private static func requestOptions(of service: AccountService) -> OAuthRequestOptions {
        OAuthRequestOptions(
            redirectURI: service.redirectURI, audience: service.audience, resources: service.resources,
            omitsResource: service.omitsResource ?? false, parameters: service.parameters,
            clientAuthentication: service.clientAuthentication.flatMap { ClientAuthentication(rawValue: $0) },
            username: service.username, bindsTokens: service.bindsTokens ?? false)
    }

    static var commandGroups: [AccountCommandGroup<Self>] { [.helpers] }

    static func store(
        at location: String, of session: SessionName, in container: AppContainer, keySources: [KeySource],
        logger: Logger?
    ) throws(AccountError) -> AccountStore {
        try AccountStore(
            at: EtcdLocation(location), credentials: .fromEnvironment(), container: container, session: session,
            keySources: keySources, logger: logger)
    }

    static func sessions(
        at location: String, in container: AppContainer, logger: Logger?
    ) async throws -> [SessionName] {
        try await container.sessions(at: EtcdLocation(location), credentials: .fromEnvironment(), logger: logger)
    }

    static func tokenURLs(of service: AccountService) -> [String] {
        guard let issuer = service.issuer else { return [] }
        // An invalid issuer maps to no hosts.
        let known = service.name.flatMap { KnownService.named($0) } ?? (try? KnownService.at(issuer))
        return known?.tokenURLs(at: issuer) ?? []
    }
}
