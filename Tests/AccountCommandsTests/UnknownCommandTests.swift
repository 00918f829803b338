import AccountKit
import ArgumentParser
import Testing

@testable import AccountCommands

@Suite struct UnknownCommandTests {
    private enum App: AccountApplication {
        static let identifier = "com.example.app"
        static let acceptsIssuer = true

        static func authority(with options: AuthorityOptions) throws(AccountError) -> any AccountAuthority {
            throw AccountError(.misconfigured, "not needed here")
        }
    }

    @Test(arguments: [
        ("logn", "login"), ("LOGIN", "login"), ("lgoin", "login"), ("logot", "logout"), ("statsu", "status"),
        ("keys", "key"), ("session", "sessions"), ("who", "whoami"), ("tokens", "token"), ("refesh", "refresh"),
        ("signin", "login"), ("sign-in", "login"), ("auth", "login"), ("signout", "logout"), ("me", "whoami"),
    ])
    func `Suggests the right subcommand for a mistyped subcommand`(word: String, meant: String) async throws {
        #expect(try await message(for: [word]) == "unknown subcommand '\(word)'\ndid you mean '\(meant)'?")
    }

    @Test(arguments: ["frobnicate", "x", "ls", "unknow"])
    func `Suggests nothing for an unknown subcommand without a similar name`(word: String) async throws {
        #expect(try await message(for: [word]) == "unknown subcommand '\(word)'")
    }

    @Test func `Reports an unknown subcommand even if other arguments follow`() async throws {
        #expect(try await message(for: ["logn", "--web", "--help"])?.hasSuffix("did you mean 'login'?") == true)
        #expect(try await message(for: ["--frob"]) == "Unknown option '--frob'")
    }

    @Test func `Suggests a corrected command if an option precedes the subcommand`() async throws {
        #expect(try await message(for: ["--json", "status"])?.hasSuffix("status --json`") == true)
    }

    @Test(arguments: [
        ("--session work whoami --offline", "whoami --session work --offline"),
        ("--json --session=work -v key add passphrase", "key add --json --session=work -v passphrase"),
        ("--store file: key add command -- pass show key", "key add --store file: command -- pass show key"),
        ("--json key", "key --json"), ("--session work unlock", "key unlock --session work"),
        ("--session work login machine https://a.example", "login machine --session work https://a.example"),
    ])
    func `Moves common options from before the subcommand to after it`(line: String, moved: String) {
        let words = line.split(separator: " ").map(String.init)
        #expect(UnknownCommand<App>.movingCommonOptions(words)?.joined(separator: " ") == moved)
    }

    @Test(arguments: [
        "whoami --offline", "--offline whoami", "--session work", "--json nosuch", "--json unknown-subcommand",
        "--session", "",
    ])
    func `Moves no arguments unless common options precede a subcommand`(line: String) {
        let words = line.split(separator: " ").map(String.init)
        #expect(UnknownCommand<App>.movingCommonOptions(words) == nil)
    }

    @Test func `Shows the help if the command line has no subcommand`() async throws {
        let text = try #require(try await message(for: []))
        #expect(text.contains("SUBCOMMANDS"))
        #expect(!text.contains("unknown"))
    }

    /// Returns the error message of a command line that has no effect.
    private func message(for arguments: [String]) async throws -> String? {
        do {
            var command = try await AccountCommand<App>.asyncParseAsRoot(arguments)
            let unknown = try #require(command as? any AsyncParsableCommand)
            command = unknown
            try await (command as? UnknownCommand<App>)?.run()
            return nil
        } catch {
            return AccountCommand<App>.message(for: error)
        }
    }
}
