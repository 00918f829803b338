public import AccountCommands

extension AccountCommandGroup {
    /// Commands that pass the tokens of a session to other programs: `exec`, `keep`, `rule`, `setup`, `mcp`, `headers`,
    /// and the credential helpers for git, Docker and kubectl. `doctor` then also checks the settings of these programs.
    ///
    /// ```swift
    /// static var commandGroups: [AccountCommandGroup<Self>] { [.helpers] }
    /// ```
    public static var helpers: AccountCommandGroup {
        AccountCommandGroup(
            name: "Integrations",
            subcommands: [
                ExecCommand<App>.self, KeepCommand<App>.self, RuleCommand<App>.self, MCPCommand<App>.self,
                HeadersCommand<App>.self, SetupCommand<App>.self, GitCredentialCommand<App>.self,
                KubeCredentialCommand<App>.self, DockerCredentialCommand<App>.self,
            ],
            mainNames: ["exec", "setup"],
            parsedAlone: { arguments in
                guard arguments.count == 2, !arguments[1].hasPrefix("-") else { return nil }
                switch arguments[0] {
                case "git-credential": return GitCredentialCommand<App>(operation: arguments[1])
                case "docker-credential": return DockerCredentialCommand<App>(action: arguments[1])
                default: return nil
                }
            },
            findings: { await ProgramInspection(context: $0).findings() })
    }
}
