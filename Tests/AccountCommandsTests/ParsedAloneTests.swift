import AccountHelpers
import AccountKit
import ArgumentParser
import Foundation
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

    // MARK: Without the parser

    private struct Help: Decodable {
        struct Command: Decodable {
            struct Argument: Decodable {
                struct Name: Decodable {
                    let kind: String
                    let name: String
                }

                let kind: String
                let names: [Name]
            }

            let arguments: [Argument]
        }

        let command: Command
    }

    /// Returns lines with one or two of all options of a command: with values that the parser accepts and refuses, without a
    /// value, and misspelled; and lines with two or all valid options in both orders.
    private static func lines(for command: any AsyncParsableCommand.Type) throws -> [[String]] {
        let help = try JSONDecoder().decode(Help.self, from: Data(command._dumpHelp().utf8))
        var (valid, all): ([[String]], [[String]]) = ([], [["alice"], ["--"], ["---"], ["-"], ["-vj"], [""]])
        for argument in help.command.arguments {
            for name in argument.names {
                let option = (name.kind == "long" ? "--" : "-") + name.name
                all += [[option], [option + "="], [String(option.dropLast())]]
                guard argument.kind == "option" else {
                    valid.append([option])
                    all.append([option + "=true"])
                    continue
                }
                let isNumber = ["--max-age", "--min-validity"].contains(option)
                let values =
                    isNumber ? ["2.5", "1e3", "0x10", "-1", "nan", "soon"] : ["work", "a=b", "-x", "\u{301}x", ""]
                valid.append(valid.count % 2 == 0 ? [option, values[0]] : ["\(option)=\(values[1])"])
                all += values.flatMap { [[option, $0], ["\(option)=\($0)"]] }
            }
        }
        return [[], valid.flatMap { $0 }, valid.reversed().flatMap { $0 }] + all
            + (all + valid).flatMap { words in valid.map { words + $0 } }
    }

    @Test(
        arguments: [WhoAmICommand<App>.self, TokenCommand<App>.self, RefreshCommand<App>.self]
            as [any AsyncParsableCommand.Type])
    func `Reads each line without the parser as the parser reads it`(command: any AsyncParsableCommand.Type) throws {
        let name = try #require(command.configuration.commandName)
        var readCount = 0
        for line in try Self.lines(for: command) {
            guard let read = AccountCommand<App>.parsedWithoutParser([name] + line) else { continue }
            readCount += 1
            let parsed = try? command.parseAsRoot(line)
            #expect(parsed.map { String(reflecting: $0) } == String(reflecting: read), "\(line)")
        }
        #expect(readCount > 100)
    }

    @Test(arguments: [
        ["whoami"], ["whoami", "--offline", "--json"], ["whoami", "--max-age", "0"], ["whoami", "--verify", "-v"],
        ["whoami", "--session=work", "--store", "file:", "--offline"], ["token"],
        ["token", "--min-validity=0", "--json"],
        ["token", "--id-token"], ["token", "--audience", "api", "--scope", "a", "--scope", "b"],
        ["token", "--resource", "https://api.example.com"], ["refresh"], ["refresh", "--session", "work", "--verbose"],
    ])
    func `Reads frequent lines without the parser`(line: [String]) {
        #expect(AccountCommand<App>.parsedWithoutParser(line) != nil)
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

    @Test func `The example for exec without a command does not print the token`() throws {
        let error = try #require(throws: (any Error).self) { try AccountCommand<App>.parseAsRoot(["exec"]) }
        let message = AccountCommand<App>.message(for: error)
        #expect(message.hasSuffix("exec --env GITHUB_TOKEN -- gh api user`"), "\(message)")
    }
}
