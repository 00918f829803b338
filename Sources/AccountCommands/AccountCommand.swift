public import ArgumentParser

/// The account commands, such as `login`, `logout` and `whoami`, as a subcommand of an app or as the whole app.
///
/// The exit code is 0 or an `AccountError.exitCode`.
public struct AccountCommand<App: AccountApplication>: AsyncParsableCommand {
    /// The subcommands.
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "account", abstract: "Sign in once, and stay signed in.",
            discussion: """
                The account is kept encrypted in Documents/Account.plist. It is cleared when you sign out, or when the \
                service says that the session has ended; never because the network is down.

                Environment: \(App.environmentPrefix)_HOME (folder for everything), \(App.environmentPrefix)_SESSION \
                (which sign-in), \(App.environmentPrefix)_STORE (where sign-ins are kept, as --store), \
                \(App.environmentPrefix)_TOKEN (a token to use instead of the archive), \
                \(App.environmentPrefix)_KEY (the archive's key, if `\(CommandLine.toolName) key add environment` said so).
                """,
            version: toolVersion, subcommands: [UnknownCommand<App>.self] + subcommands,
            defaultSubcommand: UnknownCommand<App>.self)
    }

    static var subcommands: [any AsyncParsableCommand.Type] {
        [
            LoginCommand<App>.self, LogoutCommand<App>.self, WhoAmICommand<App>.self, StatusCommand<App>.self,
            TokenCommand<App>.self, ExecCommand<App>.self, KeepCommand<App>.self, RefreshCommand<App>.self,
            SessionsCommand<App>.self,
            SwitchCommand<App>.self,
            KeyCommand<App>.self, UnlockCommand<App>.self, LockCommand<App>.self, DoctorCommand<App>.self,
            StoreCommand<App>.self, RuleCommand<App>.self, GitCredentialCommand<App>.self,
            KubeCredentialCommand<App>.self, DockerCredentialCommand<App>.self,
        ] + (App.importer == nil ? [] : [ImportCommand<App>.self])
    }

    /// Creates the command, for the parser.
    public init() {}
}

let toolVersion = "0.1.0"
