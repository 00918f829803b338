import AccountKit
import ArgumentParser

/// A sign-in without a user: as a client, or with the identity of a workload.
struct MachineLoginCommand<App: AccountApplication>: AccountSubcommand {
    /// ``GivenArguments`` joins the two words. Completion scripts cannot contain the name, and offer `machine` as the
    /// argument of `login`.
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "login machine", abstract: "Sign in without a user.",
            discussion: """
                Signs in as a client, with a secret or a key, or with the identity that a platform gives to this \
                program. The client secret is in \(App.clientSecretVariable), unless an option names another source.

                \(examples.map(HelpText.example).joined(separator: "\n"))
                """,
            shouldDisplay: !HelpDetail.generatesCompletions)
    }

    private static var examples: [String] {
        [
            "login machine https://auth.example.com --client-id nightly",
            "login machine https://auth.example.com --client-id nightly --client-key key.pem",
            "login machine https://auth.example.com --workload github-actions",
        ]
    }

    @Argument(help: "URL of the API to sign in for, or of a service. Remembered for the session.")
    var url: String?

    @Option(
        name: .customLong("service"),
        help: ArgumentHelp(
            "Known service, such as gitlab. The URL is the address of a self-hosted instance.", valueName: "name",
            visibility: HelpDetail.more))
    var serviceName: String?

    @OptionGroup var issuer: IssuerOptions<App>

    @OptionGroup var request: RequestOptions<App>

    @OptionGroup var machine: MachineOptions<App>

    @Flag(help: ArgumentHelp(LoginCommand<App>.replaceHelp, visibility: HelpDetail.more))
    var replace = false

    @OptionGroup(title: "Common options") var session: SessionOption

    @OptionGroup(title: "Common options", visibility: HelpDetail.more) var otherOptions: OtherCommonOptions

    var options: CommonOptions { CommonOptions(session, otherOptions) }

    mutating func validate() throws {
        // Without these options, a session of a client or a workload is renewed as before.
        let names = [url, serviceName, issuer.issuer, issuer.clientID].contains { $0 != nil }
        if machine.workload == nil, names || machine.authenticatesClient { machine.clientCredentials = true }
        try machine.check()
        try LoginCommand<App>.check(url, serviceName, issuer)
        if request.clientAuth != nil, machine.workload != nil {
            throw ValidationError("--workload cannot be combined with --client-auth")
        }
        if request.defaultScopes == true { throw ValidationError("a sign-in without a user has no default scopes") }
    }

    func run(in context: CommandContext<App>) async throws {
        try context.refuseEnvironmentToken(to: "sign in")
        var login = try LoginCommand<App>.parse([])
        (login.url, login.serviceName, login.replace) = (url, serviceName, replace)
        (login.issuer, login.request, login.machine) = (issuer, request, machine)
        (login.session, login.otherOptions) = (session, otherOptions)
        if !machine.isGiven, await context.archive.load().account?.credentials.machine == nil {
            login.machine.clientCredentials = true
        }
        try await login.signIn(in: context, answering: nil)
    }
}
