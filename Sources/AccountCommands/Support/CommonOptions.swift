import ArgumentParser

/// The options that all commands have.
struct CommonOptions: ParsableArguments {
    @Option(help: "Which of several sign-ins; else the environment's, else the one that `switch` chose.")
    var session: String?

    @Flag(help: "Print one JSON document instead of text.")
    var json = false

    @Flag(name: .shortAndLong, help: "Say on standard error what is being done; never shows a token.")
    var verbose = false
}

/// The options that name a service.
struct ServiceOptions: ParsableArguments {
    @Option(
        name: .customLong("service"),
        help: ArgumentHelp(
            "A service that is known by name, such as github; with --issuer, a copy of it on a host of its own.",
            valueName: "name"))
    var name: String?

    @Option(help: "The address of the service, such as https://auth.example.com. Remembered for the session.")
    var issuer: String?

    @Option(name: .customLong("client-id"), help: "The client identifier that the service knows this tool by.")
    var clientID: String?

    @Option(name: .customLong("scope"), help: "What to ask for; may be given several times.")
    var scopes: [String] = []
}
