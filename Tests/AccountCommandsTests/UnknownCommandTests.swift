import AccountKit
import ArgumentParser
import Logging
import Testing

@testable import AccountCommands

@Suite struct UnknownCommandTests {
    private enum App: AccountApplication {
        static let identifier = "com.example.app"

        static func authority(
            for: AccountService, timeout: Duration, logger: Logger?
        ) throws(AccountError) -> any AccountAuthority {
            throw AccountError(.misconfigured, "not needed here")
        }
    }

    @Test(arguments: [
        ("logn", "login"), ("LOGIN", "login"), ("lgoin", "login"), ("logot", "logout"), ("statsu", "status"),
        ("keys", "key"), ("session", "sessions"), ("who", "whoami"), ("tokens", "token"), ("refesh", "refresh"),
        ("signin", "login"), ("sign-in", "login"), ("auth", "login"), ("signout", "logout"), ("me", "whoami"),
    ])
    func `A mistyped subcommand suggests the right one`(word: String, meant: String) async throws {
        #expect(try await message(for: [word]) == "Unknown subcommand '\(word)'. Did you mean '\(meant)'?")
    }

    @Test(arguments: ["frobnicate", "x", "ls", "unknow"])
    func `An unknown subcommand without a similar one has no suggestion`(word: String) async throws {
        #expect(try await message(for: [word]) == "Unknown subcommand '\(word)'")
    }

    @Test func `Later arguments do not hide an unknown subcommand`() async throws {
        #expect(try await message(for: ["logn", "--web", "--help"])?.hasSuffix("Did you mean 'login'?") == true)
        #expect(try await message(for: ["--frob"]) == "Unknown option '--frob'")
    }

    @Test func `An option before the subcommand is shown in its place`() async throws {
        #expect(try await message(for: ["--json", "status"])?.hasSuffix("status --json`") == true)
    }

    @Test(arguments: [
        ("--session work whoami --offline", "whoami --session work --offline"),
        ("--json --session=work -v key add passphrase", "key add --json --session=work -v passphrase"),
        ("--store file: key add command -- pass show key", "key add --store file: command -- pass show key"),
        ("--json key", "key --json"),
    ])
    func `Moves common options after the subcommand`(line: String, moved: String) {
        let words = line.split(separator: " ").map(String.init)
        #expect(UnknownCommand<App>.movingCommonOptions(words)?.joined(separator: " ") == moved)
    }

    @Test(arguments: [
        "whoami --offline", "--offline whoami", "--session work", "--json nosuch", "--json unknown-subcommand",
        "--session", "",
    ])
    func `Moves nothing unless common options precede a subcommand`(line: String) {
        let words = line.split(separator: " ").map(String.init)
        #expect(UnknownCommand<App>.movingCommonOptions(words) == nil)
    }

    @Test func `Shows help without a subcommand`() async throws {
        let text = try #require(try await message(for: []))
        #expect(text.contains("SUBCOMMANDS"))
        #expect(!text.contains("unknown"))
    }

    @Test func `A mistyped subcommand of key suggests a subcommand of key`() async throws {
        #expect(try await message(for: ["key", "ad"]) == "Unknown subcommand 'ad'. Did you mean 'add'?")
    }

    @Test(arguments: [
        ("", "", 0), ("", "abc", 3), ("abc", "", 3), ("abc", "abc", 0), ("abc", "acb", 1), ("abc", "ab", 1),
        ("abc", "xabc", 1), ("abc", "axc", 1), ("abcd", "badc", 2),
    ])
    func `Counts an inserted, deleted, replaced or swapped letter as one edit`(left: String, right: String, count: Int)
    {
        #expect(Suggestion.distance(left, right) == count)
    }

    /// The message of a command line without an effect.
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
