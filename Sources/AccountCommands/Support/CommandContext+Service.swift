package import AccountKit
import AccountSupport

/// The service of a session, with its client and its authority.
extension CommandContext {
    /// The session that the user chose with an option, a variable or the settings. A rule or `--all` may choose another
    /// one. If the settings are unreadable, this is `nil`, and no session gets the client secret.
    var chosenSession: SessionName? {
        try? App.chosenSession(options.session.map(SessionName.init), preferences)
    }

    /// Returns the client secret in the environment, which belongs to one client at one service: only the session that the
    /// user chose may use it.
    package func givenClientSecret(for session: SessionName) -> Secret? {
        session == chosenSession ? Environment.value(App.clientSecretVariable).map { Secret($0) } : nil
    }

    /// Whether a session of a client without a user cannot be renewed or revoked, because this machine lacks the secret, or
    /// must not authenticate as the client.
    package func lacksClientSecret(for account: Account, in session: SessionName) -> Bool {
        account.credentials.machine?.needsSecret == true && App.acceptsIssuer && givenClientSecret(for: session) == nil
            || ownClientProblem(of: account, in: session) != nil
    }

    /// Adds the variable that helps to an error: if the client secret of the session is missing or wrong, or if the folder of
    /// the session supports no locks.
    func namingVariable(_ error: any Error) -> any Error {
        if var error = error as? AccountError, (error.cause as? SystemCallError)?.isUnsupportedLock == true {
            error.hint = "set \(App.environmentPrefix)_HOME to a folder on a local disk"
            return error
        }
        guard var error = error as? AccountError, error.code == .misconfigured, error.hint == nil,
            let account = archive.account, App.acceptsIssuer
        else { return error }
        guard let machine = account.credentials.machine else {
            if isRefusalOfClient(error.description) { error.hint = clientHint }
            return error
        }
        if let problem = ownClientProblem(of: account) {
            (error.message, error.hint) = (problem.message + "; you are still signed in", problem.hint)
            return error
        }
        if let key = clientKey(of: account) {
            if error.description.contains("invalid_client") {
                error.hint = "check that the service knows the public key of \(key.path)"
            }
            return error
        }
        guard machine.needsSecret else { return error }
        if error.description.contains(MachineGrant.missingSecret) {
            error.hint =
                "set \(App.clientSecretVariable), and choose the session with --session or \(App.sessionVariable)"
        } else if error.description.contains("invalid_client") {
            error.hint = "check the client secret in \(App.clientSecretVariable)"
        }
        return error
    }

    private func isRefusalOfClient(_ text: String) -> Bool {
        ["invalid_client", "incorrect_client_credentials"].contains { text.contains($0) }
    }

    /// The hint after the service refused the client of a user's session.
    private var clientHint: String {
        let login = "sign in again with `\(hint.command("login", "--client-id ID"))`"
        return Environment.value(App.clientSecretVariable) == nil
            ? "if the client has a secret, set \(App.clientSecretVariable); if the service has removed the client, \(login)"
            : "check the client secret in \(App.clientSecretVariable); if the service has removed the client, \(login)"
    }

    /// Returns the authority for the service that issued an account's tokens, regardless of the settings.
    package func authority(
        of account: Account, in other: SessionName? = nil, timeout: Duration = .seconds(10)
    ) throws -> any ServiceAuthority {
        let session = other ?? session
        let isChosen = session == chosenSession
        var named = AccountService(
            of: account, remembered: readableService(of: session), acceptsGivenSecret: isChosen)
        var unnamed = AccountService(of: account, remembered: nil, acceptsGivenSecret: isChosen)
        if account.credentials.machine?.needsSecret == true {
            let secret = givenClientSecret(for: session)
            (named.clientSecret, unnamed.clientSecret) = (secret, secret)
        }
        if location != nil, App.acceptsIssuer {
            let own = ownClient(of: session)
            (named, unnamed) = (own.limiting(named, of: account), own.limiting(unnamed, of: account))
        }
        do {
            return try authority(for: named, timeout: timeout)
        } catch  where named != unnamed {
            // Only a later version supports this name or option. The issuer still identifies the service.
            return try authority(for: unnamed, timeout: timeout)
        }
    }

    /// Returns why this program gets no assertion for the session of a client.
    ///
    /// - Parameter isQuick: Whether to start no program and send no request.
    func assertionProblem(of account: Account, isQuick: Bool = true) async -> String? {
        if let problem = ownClientProblem(of: account) { return StateText.sentences(problem) }
        guard account.credentials.machine?.workload != nil else { return nil }
        do {
            let authority = try authority(of: account, timeout: .seconds(5))
            guard let problem = await authority.assertionProblem(for: account, isQuick: isQuick) else { return nil }
            if case .misconfigured(let text) = problem { return text }
            return "\(SessionDecision.reason(for: problem))"
        } catch {
            return error.userText
        }
    }

    /// Returns a message if the service soon ends a session that is not used.
    func unusedProblem(of account: Account, in session: SessionName) -> String? {
        // Without an authority, the commands that need it report the reason.
        let authority = try? authority(of: account, in: session)
        return StateText.unused(account, authority?.unusedTokenLifetime, at: SystemWallClock().now, hint(for: session))
    }

    /// Throws an error if a program prints the assertions of a session in a shared store: another machine could choose the
    /// program that this machine runs.
    ///
    /// - Parameter workload: The words in the settings, or the value of the option as one word.
    func checkProgram(of workload: [String]?) throws(AccountError) {
        guard location != nil, workload?.first?.split(separator: " ").first == "command" else { return }
        throw AccountError(
            .misconfigured, "a session in a shared store cannot get its assertions from a program",
            hint: "use --workload 'file PATH' or 'env NAME', or sign in on each machine with --store file:")
    }

    /// Returns the service in the settings of a session; `nil` if there is none, or if the settings are unreadable. In
    /// these cases, the account itself identifies its service.
    package func readableService(of session: SessionName) -> AccountService? {
        App.acceptsIssuer ? try? preferences.service(of: session) : nil
    }

    func authority(for service: AccountService, timeout: Duration) throws -> any ServiceAuthority {
        try checkProgram(of: service.workload)
        var service = service
        if App.acceptsIssuer, let secret = Environment.value(App.clientSecretVariable) {
            service.accept(Secret(secret))
        }
        let options = AuthorityOptions(service: service, timeout: timeout, logger: logger)
        return try App.authority(with: options).serviceAuthority
    }

    /// Whether the app can sign in by the URL of an API. Other apps ignore ``AccountService/url``, or throw an error
    /// because there is no issuer.
    var acceptsAPIs: Bool {
        let service = AccountService(url: "https://api.example.com")
        return App.acceptsIssuer && (try? authority(for: service, timeout: .seconds(10)))?.namingAPI != nil
    }

    func rememberedService() throws -> AccountService {
        guard App.acceptsIssuer else { return AccountService() }
        guard let service = try preferences.service(of: session) else {
            throw AccountError(
                .invalidArgument,
                "the service of the token in \(App.tokenVariable) is unknown",
                hint: "unset the variable and sign in once with `\(hint.command("login"))`")
        }
        return service
    }

    func environment(of account: Account?) -> [NetworkSetting] {
        let effects = [
            ("HOME", "folder for all files"), ("SESSION", "session to use"),
            ("STORE", "where sessions are stored"), ("TOKEN", "used instead of the archive"),
        ]
        let own = effects.compactMap { suffix, effect in
            let variable = "\(App.environmentPrefix)_\(suffix)"
            return Environment.value(variable).map {
                NetworkSetting(variable: variable, value: suffix == "TOKEN" ? "set" : $0, effect: effect)
            }
        }
        let authority =
            if let account {
                try? authority(of: account)
            } else {
                try? authority(for: rememberedService(), timeout: .seconds(10))
            }
        if let authority { return own + authority.networkSettings }
        // Before the first sign-in, a problem with the network's settings is the same for each service. No request can reach the
        // name below (RFC 6761, section 6.4).
        let unknown = try? self.authority(
            for: AccountService(issuer: "https://unknown.invalid"), timeout: .seconds(10))
        return own + (unknown?.networkSettings ?? []).filter { $0.problem != nil }
    }
}

extension NetworkSetting {
    var summary: String { "\(variable)=\(value) (\(problem ?? effect))" }
}

extension [NetworkSetting] {
    var values: [String: String] { Dictionary(map { ($0.variable, $0.value) }) { first, _ in first } }
}
