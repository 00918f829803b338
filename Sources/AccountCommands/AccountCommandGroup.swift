package import ArgumentParser

/// Commands that an app adds to the account commands, such as `.helpers` of AccountHelpers.
public struct AccountCommandGroup<App: AccountApplication>: Sendable {
    /// The heading in the help.
    package let name: String
    package let subcommands: [any AsyncParsableCommand.Type]

    /// The names of the subcommands that the short help shows. `help --all` shows all.
    package let mainNames: [String]

    /// Creates a command that other programs run often, without using the parser. Returns `nil` for all other
    /// arguments.
    package let parsedAlone: @Sendable (_ arguments: [String]) -> (any AsyncParsableCommand)?

    /// Returns the findings of `doctor` about other programs.
    package let findings: @Sendable (CommandContext<App>) async -> [Finding]

    package init(
        name: String, subcommands: [any AsyncParsableCommand.Type], mainNames: [String],
        parsedAlone: @escaping @Sendable (_ arguments: [String]) -> (any AsyncParsableCommand)?,
        findings: @escaping @Sendable (CommandContext<App>) async -> [Finding]
    ) {
        self.name = name
        self.subcommands = subcommands
        self.mainNames = mainNames
        self.parsedAlone = parsedAlone
        self.findings = findings
    }
}
