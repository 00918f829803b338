import AccountKit
import ArgumentParser

/// `login`: signs in, and remembers the service.
struct LoginCommand<App: AccountApplication>: AccountSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "login", abstract: "Sign in.",
            discussion: """
                A secret is never taken from an argument, where other users of the machine could see it: a password is \
                asked for on the terminal or read from standard input, a token is read from standard input.

                  account login --issuer https://auth.example.com --client-id my-tool --password
                  account login --issuer https://auth.example.com --client-id my-tool --with-token < token.txt
                """)
    }

    @OptionGroup var service: ServiceOptions

    @Flag(help: "Sign in with a user name and a password, asked for on the terminal.")
    var password = false

    @Flag(help: "Read the password from the first line of standard input.")
    var passwordStdin = false

    @Flag(help: "Read an access token from the first line of standard input.")
    var withToken = false

    @Option(help: "The user name; asked for on the terminal if it is missing.")
    var username: String?

    @OptionGroup var options: CommonOptions

    func validate() throws {
        if withToken, password || passwordStdin || username != nil {
            throw ValidationError(
                "--with-token goes with neither a password nor a user name: the token says whose it is")
        }
    }

    func run(in context: CommandContext<App>) async throws {
        try context.refuseEnvironmentToken(to: "sign in")
        let service = try await context.service(service)
        let authority = try context.authority(for: service, timeout: .seconds(30))
        let account = try await withToken ? signInWithToken(context, authority) : signInWithPassword(context, authority)
        if App.takesIssuer { try await context.preferences.setService(service, of: context.session) }

        await context.deliverRevocations()

        if options.json {
            try JSONDocument.print(StateDocument(.verified(account), session: context.session))
        } else {
            let place = account.issuer.map { " at \($0)" } ?? ""
            let session = context.session == .default ? "" : " (session \(context.session))"
            context.say("Signed in as \(account.displayName)\(place)\(session).")
        }
    }

    private func signInWithToken(
        _ context: CommandContext<App>, _ authority: any AccountAuthority
    ) async throws -> Account {
        guard let authority = authority as? any TokenAuthority else {
            throw AccountError(.invalidArgument, "this service cannot tell whose a token is: sign in with --password")
        }
        if Terminal.isTerminal(.input) {
            throw AccountError(
                .invalidArgument,
                "--with-token reads the token from standard input, which is a terminal here: use "
                    + "`\(context.tool) login --with-token < FILE`, or pipe it in from your password manager")
        }
        return try await context.store.signIn {
            guard let token = try Terminal.readSecretLine() else {
                throw AccountError(.invalidArgument, "there is no token on standard input: its first line is empty")
            }
            return try await authority.signIn(token: token)
        }
    }

    private func signInWithPassword(
        _ context: CommandContext<App>, _ authority: any AccountAuthority
    ) async throws -> Account {
        guard let authority = authority as? any PasswordAuthority else {
            throw AccountError(.invalidArgument, "this service takes no password: sign in with --with-token")
        }
        let canPrompt = Terminal.isTerminal(.input)
        guard canPrompt || passwordStdin else {
            throw AccountError(
                .invalidArgument,
                "there is no terminal to ask on: add --password-stdin and --username NAME, or --with-token")
        }
        guard canPrompt || username != nil else {
            throw AccountError(.invalidArgument, "there is no terminal to ask on: add --username NAME")
        }
        // Inside the sign-in, so that nobody is asked for a password that could not be used.
        return try await context.store.signIn {
            let username = try username ?? Terminal.prompt("User name: ")
            let password: Secret
            if passwordStdin {
                guard let line = try Terminal.readSecretLine() else {
                    throw AccountError(
                        .invalidArgument, "there is no password on standard input: its first line is empty")
                }
                password = line
            } else {
                password = try Terminal.promptForSecret("Password for \(username): ")
            }
            return try await authority.signIn(username: username, password: password)
        }
    }
}
