import AccountKit
import AccountSupport
import ArgumentParser

/// The checks of the options, and advice that names them.
extension LoginCommand {
    func validate() throws {
        try machine.check()
        try validateMachine()
        if authorization.dpop == true, ways.withToken {
            throw ValidationError("--dpop cannot be combined with --with-token: only a sign-in binds tokens to a key")
        }
        if username?.isEmpty == true { throw ValidationError("the user name is empty") }
        if username != nil, ways.withToken {
            throw ValidationError("--username cannot be combined with --with-token: the service identifies the user")
        }
        if authorization.redirectURI != nil, ways.device || ways.usesPassword || ways.withToken {
            throw ValidationError("--redirect-uri applies only to a sign-in with a browser", hint: "use --web")
        }
        try Self.check(url, serviceName, issuer) {
            // The argument may be a token, so the messages don't repeat it.
            if App.acceptsIssuer, url == "machine" { return "write `login machine` before the options" }
            if ways.withToken { return "--with-token reads the token from standard input" }
            return ways.password ? "--password prompts for the password" : nil
        }
        if stepUp, ways.usesPassword || ways.withToken {
            throw ValidationError("--step-up is for a sign-in with a browser or another device")
        }
    }

    /// Refuses a URL that is not one, or that is given twice.
    ///
    /// - Parameter explanation: Why the argument may be something else.
    static func check(
        _ url: String?, _ serviceName: String?, _ issuer: IssuerOptions<App>, explanation: () -> String? = { nil }
    ) throws {
        if url != nil, serviceName != nil, issuer.issuer != nil {
            throw ValidationError("a sign-in with --service has one URL", hint: "omit --issuer")
        }
        guard let url else { return }
        if let separator = url.firstRange(of: "://") {
            let scheme = url[..<separator.lowerBound].lowercased()
            guard scheme != "https", scheme != "http" else { return }
            throw ValidationError("the argument is not a web URL", hint: "use https://\(url[separator.upperBound...])")
        }
        let hint =
            if let explanation = explanation() {
                explanation
            } else if let service = App.service(at: url)
                ?? (url.contains(".") ? nil : Suggestion.nearest(to: url, among: App.services.map(\.name)))
            {
                "use --service \(service)"
            } else {
                "pass a URL, such as https://api.example.com, or --service NAME"
            }
        throw ValidationError("the argument is not a URL", hint: hint)
    }

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

    /// Says how to pass a token, with the service in the options.
    func tokenAdvice(_ hint: CommandHint) -> String {
        let options = [
            serviceName.map { "--service \($0.shellWord)" }, issuer.issuer.map { "--issuer \($0.shellWord)" },
            "--with-token < FILE",
        ]
        let command = hint.command(
            "login" + (url.map { " \($0.shellWord)" } ?? ""), options.compactMap(\.self).joined(separator: " "))
        return "use `\(command)`, or pipe the token from your password manager"
    }

    /// The hint for a sign-in as a client without a secret. `login` itself has no options for a client.
    static func secretHint(_ command: CommandHint) -> String {
        "set \(App.clientSecretVariable), or use `\(command.command("login machine"))` with --client-secret-stdin or "
            + "--client-key FILE"
    }
}
