import AccountHelpers
import AccountKit
import ArgumentParser
import Testing

@testable import AccountCommands

@Suite struct ParsedAloneTests {
    private enum App: AccountApplication {
        static let identifier = "com.example.app"
        static let acceptsIssuer = true
        static var commandGroups: [AccountCommandGroup<Self>] { [.helpers] }

        static func authority(with options: AuthorityOptions) throws(AccountError) -> any AccountAuthority {
            throw AccountError(.misconfigured, "not needed here")
        }
    }

    @Test(arguments: [
        ["whoami"], ["whoami", "--offline"], ["whoami", "--json", "--offline"], ["whoami", "--session", "work"],
        ["whoami", "--offline", "--session=work", "--json"], ["whoami", "-v"], ["whoami", "--verify"],
        ["whoami", "--max-age", "0"], ["token"], ["token", "--json"], ["token", "--min-validity", "90.5", "--json"],
        ["token", "--session", "work", "--min-validity", "1e3"], ["token", "--id-token", "--json"],
        ["login", "--web", "--scope", "a", "--scope", "b"],
        ["logout", "--all"], ["status"], ["refresh", "--json"], ["sessions"], ["switch", "work"], ["doctor", "--fix"],
        ["login machine", "--workload", "gitlab"], ["git-credential", "get"], ["git-credential", "store"],
        ["git-credential", "erase"], ["git-credential", "-v", "get"], ["kube-credential"],
        ["kube-credential", "--session", "work"], ["kube-credential", "--any-cluster"], ["docker-credential", "get"],
    ])
    func `Parses a subcommand directly with the same result as the full parser`(arguments: [String]) throws {
        let alone = try #require(AccountCommand<App>.parsedAlone(arguments))
        let parsed = try AccountCommand<App>.parseAsRoot(arguments)
        #expect(type(of: alone) == type(of: parsed))
        #expect(String(reflecting: alone) == String(reflecting: parsed))
    }

    @Test(
        arguments: [
            [], [""], ["--offline", "whoami"], ["whoam"], ["help", "whoami"], ["whoami", "--help"], ["whoami", "-h"],
            ["whoami", "--offlin"], ["whoami", "--session"], ["whoami", "--verify", "--offline"],
            ["whoami", "--max-age", "soon"], ["whoami", "--max-age", "-1"], ["whoami", "alice"], ["--version"],
            ["whoami", "--version"], ["token", "--offline"], ["key"], ["key", "add", "file"], ["key", "unlock"],
            ["whoami", "--generate-completion-script", "bash"], ["--generate-completion-script", "bash"],
        ] as [[String]])
    func `Leaves help, nested subcommands and errors to the full parser`(arguments: [String]) {
        #expect(AccountCommand<App>.parsedAlone(arguments).map { "\($0)" } == nil)
    }

    @Test(arguments: [
        ["whoami", "--max-age", "nan"], ["whoami", "--max-age", "-1"], ["whoami", "--max-age", "soon"],
        ["whoami", "--offline", "--verify"], ["whoami", "extra"], ["token", "--min-validity", "-5"],
        ["token", "--min-validity", "nan"], ["switch"], ["login", "--password=secret"], ["login", "--device", "--web"],
        ["login", "--device", "--paste"], ["login", "--with-token", "--username", "alice"], ["exec"], ["exec", "--"],
        ["exec", "--no-such", "env"], ["exec", "--env", "1A", "env"], ["exec", "--env", "A=B", "env"],
        ["exec", "--min-validity=-1", "env"],
    ])
    func `Refuses invalid values and combinations of options`(arguments: [String]) {
        #expect(throws: (any Error).self) { try AccountCommand<App>.parseAsRoot(arguments) }
    }
}
