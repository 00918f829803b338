import AccountSupport
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
                The tool stores the account encrypted in Documents/Account.plist until you sign out or the service \
                ends the session. Network problems do not sign you out.

                  \(CommandLine.toolName) login
                  \(CommandLine.toolName) whoami
                  curl -H "Authorization: Bearer $(\(CommandLine.toolName) token)" https://api.example.com
                """ + (HelpDetail.isShort ? "" : "\n\n" + environment),
            version: version, subcommands: [UnknownCommand<App>.self] + (HelpDetail.isShort ? main : []),
            groupedSubcommands: HelpDetail.isShort
                ? [] : groups.map { CommandGroup(name: $0.name, subcommands: $0.subcommands) },
            defaultSubcommand: UnknownCommand<App>.self)
    }

    private static var environment: String {
        let prefix = App.environmentPrefix
        return """
            Environment: \(prefix)_HOME (folder for all files), \(prefix)_SESSION (session to use), \(prefix)_STORE \
            (where to store sessions, like --store), \(prefix)_TOKEN (a token to use instead of the archive), \
            \(prefix)_KEY (the archive's key, if set up with `\(CommandLine.toolName) key add environment`).
            """
    }

    private static var version: String {
        App.version.isEmpty ? accountKitVersion : "\(App.version) (AccountKit \(accountKitVersion))"
    }

    typealias Group = (name: String, subcommands: [any AsyncParsableCommand.Type])

    /// The subcommands under their headings in the complete help.
    static var groups: [Group] {
        let own: [Group] = [
            (
                "Sign in",
                [LoginCommand<App>.self] + (App.acceptsIssuer ? [MachineLoginCommand<App>.self] : [])
                    + [LogoutCommand<App>.self, WhoAmICommand<App>.self, StatusCommand<App>.self]
            ),
            ("Tokens", [TokenCommand<App>.self, RefreshCommand<App>.self]),
            ("Sessions", [SessionsCommand<App>.self, SwitchCommand<App>.self]),
            ("Keys", [KeyCommand<App>.self]),
        ]
        return own + App.commandGroups.map { ($0.name, $0.subcommands) } + [("Maintenance", [DoctorCommand<App>.self])]
    }

    /// The subcommands in the short help: what users do first comes first.
    private static var main: [any AsyncParsableCommand.Type] {
        let order = ["login", "logout", "whoami", "status", "token", "exec", "sessions", "switch", "setup"]
        let names = Set(order + App.commandGroups.flatMap(\.mainNames) + ["doctor"])
        let shown = groups.flatMap(\.subcommands).filter { names.contains($0.configuration.commandName ?? "") }
        let first = order.compactMap { name in shown.first { $0.configuration.commandName == name } }
        return first + shown.filter { !order.contains($0.configuration.commandName ?? "") }
    }

    /// Creates the command, for the parser.
    public init() {}
}
