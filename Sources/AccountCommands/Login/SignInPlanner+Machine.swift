import AccountKit
import AccountSupport

/// The sign-in without a user: as a client, or with the identity of a workload.
extension SignInPlanner {
    /// Returns the account of a client without a user, to sign in as the same client again; `nil` if the session belongs
    /// to a user, or if an option or answer says how or where to sign in.
    func repeatedMachine() async -> Account? {
        let (machine, issuer) = (command.machine, command.issuer)
        guard machine.isGiven || !command.choosesWay && !command.userOptions.contains(where: \.isGiven),
            command.serviceName == nil, command.url == nil, issuer.issuer == nil, issuer.clientID == nil,
            answers == nil || answers?.way == nil && answers?.url == nil && answers?.serviceName == nil,
            let account = await context.archive.load().account, account.credentials.machine != nil,
            answers?.issuer == nil || answers?.issuer == account.issuer
        else { return nil }
        return account
    }

    /// Returns the service of a sign-in as a client, with its key or secret. Such a sign-in has no default scopes.
    func machineService(from chosen: AccountService, repeating account: Account?) throws -> AccountService {
        let (machine, request) = (command.machine, command.request)
        var service = try account.map { try repeatedService(of: $0, remembered: chosen) } ?? chosen
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
        if service.clientKey == nil { service.clientSecret = try clientSecret() }
        return service
    }

    /// Returns the service of an account, to sign in as the same client again. If other machines may have written the archive,
    /// only options and the settings of this machine choose the key and the source of the assertions.
    private func repeatedService(of account: Account, remembered: AccountService) throws -> AccountService {
        let service = AccountService(of: account, remembered: remembered)
        guard context.location != nil else { return service }
        let machine = command.machine
        var account = account
        // Options replace what the archive names.
        if machine.clientKey != nil || machine.clientSecretStdin || machine.workload != nil {
            account.credentials.machine?.key = nil
            account.credentials.machine?.workload = nil
        }
        try context.checkOwnClient(of: account)
        return context.ownClient(of: context.session).limiting(service, of: account)
    }

    private func clientSecret() throws -> Secret {
        let variable = App.clientSecretVariable
        guard command.machine.clientSecretStdin else {
            if let secret = Environment.value(variable) { return Secret(secret) }
            throw AccountError(
                .invalidArgument, "a sign-in as a client requires a client secret or a key",
                hint: LoginCommand<App>.secretHint(context.hint))
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
}
