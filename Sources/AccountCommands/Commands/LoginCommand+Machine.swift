import AccountKit
import AccountSupport
import ArgumentParser

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The sign-in without a user: as a client, or with the identity of a workload.
extension LoginCommand {
    // MARK: Options

    /// Refuses options that are meaningless for a sign-in without a user.
    func validateMachine() throws {
        guard machine.isGiven else { return }
        let option = machine.clientCredentials ? "--client-credentials" : "--workload"
        let others = [("--client-auth", request.clientAuth != nil && machine.workload != nil)] + userOptions
        if let other = others.first(where: \.isGiven) {
            throw ValidationError("\(option) cannot be combined with \(other.name)")
        }
    }

    /// The options that are meaningless for a sign-in without a user.
    var userOptions: [(name: String, isGiven: Bool)] {
        [
            ("--device", ways.device), ("--web", ways.web), ("--paste", ways.paste), ("--password", ways.password),
            ("--password-stdin", ways.passwordStdin), ("--with-token", ways.withToken), ("--username", username != nil),
            ("--step-up", stepUp), ("--register", register), ("--redirect-uri", authorization.redirectURI != nil),
            ("--parameter", !authorization.parameters.isEmpty), ("--default-scopes", request.defaultScopes == true),
            ("--client-metadata-url", authorization.clientMetadataURL != nil), ("--dpop", authorization.dpop == true),
        ]
    }

    private var hasUserOptions: Bool { userOptions.contains(where: \.isGiven) }

    // MARK: Signing in

    /// Returns the account of a client without a user, to sign in as the same client again; `nil` if the session belongs
    /// to a user, or if an option or answer says how or where to sign in.
    func repeatedMachine(
        in context: CommandContext<App>, answering answers: LoginConversation<App>.Answers?
    ) async -> Account? {
        guard machine.isGiven || !choosesWay && !hasUserOptions, serviceName == nil, url == nil,
            issuer.issuer == nil, issuer.clientID == nil,
            answers == nil || answers?.way == nil && answers?.url == nil && answers?.serviceName == nil,
            let account = await context.archive.load().account, account.credentials.machine != nil,
            answers?.issuer == nil || answers?.issuer == account.issuer
        else { return nil }
        return account
    }

    /// Returns the service of a sign-in as a client, with its key or secret. Such a sign-in has no default scopes.
    func machineService(
        from chosen: AccountService, repeating account: Account?, in context: CommandContext<App>
    ) throws -> AccountService {
        var service = try account.map { try repeatedService(of: $0, remembered: chosen, in: context) } ?? chosen
        // The scopes that the API names are the default of a sign-in by its URL.
        (service.scopes, service.usesDefaultScopes) = (
            request.scopes, service.url != nil && request.defaultScopes != false
        )
        if let account, let grant = account.credentials.machine {
            (service.url, service.usesDefaultScopes) = (nil, false)
            if request.scopes.isEmpty { service.scopes = grant.scopes }
            service.audience = request.audience ?? grant.audience
            if request.resources.isEmpty { service.resources = account.credentials.resources }
        }
        if machine.workload != nil || service.workload != nil {
            guard machine.clientCredentials else {
                if let workload = machine.workload {
                    (service.workload, service.workloadGrant) = ([workload], machine.workloadGrant)
                    service.clientAssertionAudience = machine.clientAssertionAudience
                }
                return service
            }
            service.workload = nil
        }
        guard service.clientID != nil else {
            throw AccountError(
                .invalidArgument, "a sign-in as a client requires a client ID", hint: "add --client-id ID")
        }
        if machine.clientKey != nil || service.clientKey == nil || machine.clientSecretStdin {
            service.clientKey = machine.clientKey.map {
                ClientKeyFile(
                    path: $0.hasPrefix("/") ? $0 : FileManager.default.currentDirectoryPath + "/" + $0,
                    id: machine.clientKeyID, audience: machine.clientAssertionAudience)
            }
        }
        if service.clientKey == nil { service.clientSecret = try clientSecret(context.hint) }
        return service
    }

    /// Returns the service of an account, to sign in as the same client again. If other machines may have written the archive,
    /// only options and the settings of this machine choose the key and the source of the assertions.
    private func repeatedService(
        of account: Account, remembered: AccountService, in context: CommandContext<App>
    ) throws -> AccountService {
        let service = AccountService(of: account, remembered: remembered)
        guard context.location != nil else { return service }
        var account = account
        // Options replace what the archive names.
        if machine.clientKey != nil || machine.clientSecretStdin || machine.workload != nil {
            account.credentials.machine?.key = nil
            account.credentials.machine?.workload = nil
        }
        try context.checkOwnClient(of: account)
        return context.ownClient(of: context.session).limiting(service, of: account)
    }

    private func clientSecret(_ command: CommandHint) throws -> Secret {
        let variable = App.clientSecretVariable
        guard machine.clientSecretStdin else {
            if let secret = Environment.value(variable) { return Secret(secret) }
            throw AccountError(
                .invalidArgument, "a sign-in as a client requires a client secret or a key",
                hint: Self.secretHint(command))
        }
        let hint = "pipe the secret from your password manager, or set \(variable)"
        guard !Terminal.isTerminal(.input) else {
            throw AccountError(
                .invalidArgument,
                "--client-secret-stdin reads the client secret from standard input, which is a terminal here",
                hint: hint)
        }
        guard let secret = try Terminal.readSecretLine(of: .token) else {
            throw AccountError(.invalidArgument, "no client secret on standard input: it is empty", hint: hint)
        }
        return secret
    }

    /// The hint for a sign-in as a client without a secret. `login` itself has no options for a client.
    static func secretHint(_ command: CommandHint) -> String {
        "set \(App.clientSecretVariable), or use `\(command.command("login machine"))` with --client-secret-stdin or "
            + "--client-key FILE"
    }

    func signInAsClient(_ store: AccountStore, _ authority: any ServiceAuthority) async throws -> Account {
        guard let authority = authority.clientWay else {
            throw AccountError(
                .invalidArgument, "this service offers no sign-in without a user",
                hint: "add --issuer URL, with the address of the authorization server")
        }
        return try await store.signIn(asClientWith: authority)
    }
}
