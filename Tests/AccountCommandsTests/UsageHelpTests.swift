import AccountHelpers
import AccountKit
import ArgumentParser
import Testing

@testable import AccountCommands

/// An error in the arguments names the help of the command that it is about.
@Suite struct UsageHelpTests {
    private enum App: AccountApplication {
        static let identifier = "com.example.app"
        static let acceptsIssuer = true
        static var commandGroups: [AccountCommandGroup<Self>] { [.helpers] }

        static func authority(with options: AuthorityOptions) throws(AccountError) -> any AccountAuthority {
            throw AccountError(.misconfigured, "not needed here")
        }
    }

    private struct Notes: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "notes", subcommands: [List.self, AccountCommand<App>.self])
    }

    private struct List: AsyncParsableCommand {}

    /// Returns the error that a tool reports for a command line that has no effect.
    private func error(for line: String, of root: any AsyncParsableCommand.Type, tool: String) async throws
        -> AccountError
    {
        let arguments = line.split(separator: " ").map(String.init)
        let error = try await #require(throws: (any Error).self) {
            var command = try root.parseAsRoot(arguments)
            try await (command as? UnknownCommand<App>)?.run()
            try command.run()
        }
        return UsageMessage.error(error, in: arguments, of: root, tool: tool)
    }

    static let rows: [(line: String, message: String, hint: String)] = [
        ("rule nonsense", "unknown subcommand 'nonsense'", "see `account rule --help`"),
        ("rule lst", "unknown subcommand 'lst'", "did you mean 'list'? See `account rule --help`"),
        ("key nonsense", "unknown subcommand 'nonsense'", "see `account key --help`"),
        ("key ad", "unknown subcommand 'ad'", "did you mean 'add'? See `account key --help`"),
        ("logn", "unknown subcommand 'logn'", "did you mean 'login'? See `account --help`"),
        ("whoami extra", "unexpected argument 'extra'", "see `account whoami --help`"),
        (
            "login https://a.example --parameter foo", "the value 'foo' is invalid for '--parameter <name=value>'",
            "see `account help login --all`"
        ),
        ("login -s work", "unknown option '-s'", "did you mean '--session'? See `account login --help`"),
        ("login --user alice", "unknown option '--user'", "did you mean '--username'? See `account login --help`"),
        (
            "login --token=secret x", "unknown option '--token'",
            "did you mean '--with-token'? See `account login --help`"
        ),
        ("switch --list", "unknown option '--list'", "to list the sessions, run `account sessions`"),
        ("switch", "missing expected argument '<name>'", "see `account switch --help`"),
        (
            "token --min-validity -5", "the value '-5' is invalid for '--min-validity <seconds>'",
            "see `account token --help`"
        ),
        ("login --session", "missing value for '--session <session>'", "see `account login --help`"),
    ]

    @Test(arguments: rows)
    func `Names the help of the command`(line: String, message: String, hint: String) async throws {
        let alone = try await error(for: line, of: AccountCommand<App>.self, tool: "account")
        #expect(alone.message == message && alone.hint == hint, "\(alone)")
        let embedded = try await error(for: "account " + line, of: Notes.self, tool: "notes account")
        #expect(embedded.message == message, "\(embedded)")
        #expect(embedded.hint == hint.replacing("`account ", with: "`notes account "), "\(embedded)")
    }

    @Test(arguments: ["nonsense", "account nonsense", "account login nonsense", "list nonsense"])
    func `help refuses an unknown command`(line: String) {
        let words = ["help"] + line.split(separator: " ").map(String.init)
        #expect(throws: ValidationError.self) { try Notes.checkHelp(words) }
    }

    @Test(arguments: ["", "help", "account", "account key add", "account --help", "list"])
    func `help accepts a command`(line: String) throws {
        try Notes.checkHelp(["help"] + line.split(separator: " ").map(String.init))
        try List.checkHelp(["help", "me"])
    }
}
