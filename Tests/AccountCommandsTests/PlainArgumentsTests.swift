import AccountKit
import ArgumentParser
import Logging
import Testing

@testable import AccountCommands

@Suite struct PlainArgumentsTests {
    private enum App: AccountApplication {
        static let identifier = "com.example.app"

        static func authority(
            for: AccountService, timeout: Duration, logger: Logger?
        ) throws(AccountError) -> any AccountAuthority {
            throw AccountError(.misconfigured, "not needed here")
        }
    }

    @Test(arguments: [
        ["whoami"], ["whoami", "--offline"], ["whoami", "--json", "--offline"], ["whoami", "--session", "work"],
        ["whoami", "--offline", "--session", "work", "--json"], ["whoami", "--offline", "--offline"],
        ["whoami", "--session", ""], ["whoami", "--verify"], ["whoami", "--max-age", "0"],
        ["whoami", "--max-age", "1.5e3", "--max-age", "7"],
    ])
    func `What is understood of whoami means what the parser makes of it`(arguments: [String]) throws {
        let plain = try #require(WhoAmICommand<App>(plain: arguments))
        let parsed = try #require(try AccountCommand<App>.parseAsRoot(arguments) as? WhoAmICommand<App>)
        #expect(plain.offline == parsed.offline)
        #expect(plain.verify == parsed.verify)
        #expect(plain.maxAge == parsed.maxAge)
        #expect(plain.options.session == parsed.options.session)
        #expect(plain.options.json == parsed.options.json)
        #expect(plain.options.verbose == parsed.options.verbose)
    }

    @Test(arguments: [
        ["token"], ["token", "--json"], ["token", "--min-validity", "0"],
        ["token", "--min-validity", "90.5", "--json"],
        ["token", "--session", "work", "--min-validity", "1e3"],
    ])
    func `What is understood of token means what the parser makes of it`(arguments: [String]) throws {
        let plain = try #require(TokenCommand<App>(plain: arguments))
        let parsed = try #require(try AccountCommand<App>.parseAsRoot(arguments) as? TokenCommand<App>)
        #expect(plain.minValidity == parsed.minValidity)
        #expect(plain.options.session == parsed.options.session)
        #expect(plain.options.json == parsed.options.json)
        #expect(plain.options.verbose == parsed.options.verbose)
    }

    @Test(
        arguments: [
            [], [""], ["--offline", "whoami"], ["whoam"], ["status"], ["whoami", "--offlin"],
            ["whoami", "--offline=true"],
            ["whoami", "--session"], ["whoami", "--session", "--json"], ["whoami", "--session=work"],
            ["whoami", "--session", "a", "--session", "b"], ["whoami", "--verify", "--offline"],
            ["whoami", "--max-age", "soon"], ["whoami", "--max-age", "-1"], ["whoami", "--max-age", "inf"],
            ["whoami", "--max-age", "nan"], ["whoami", "--max-age"], ["whoami", "--help"], ["whoami", "-v"],
            ["whoami", "--", "--offline"], ["whoami", "alice"], ["token", "--offline"], ["token", "-v"],
            ["token", "--min-validity"], ["token", "--min-validity", "-1"], ["token", "--min-validity", "inf"],
            ["token", "--min-validity", "1", "--min-validity", "2"], ["token", "--session", "a", "--session", "b"],
        ] as [[String]])
    func `The rest is the parser's`(arguments: [String]) {
        #expect(WhoAmICommand<App>(plain: arguments).map { _ in "understood" } == nil)
        #expect(TokenCommand<App>(plain: arguments).map { _ in "understood" } == nil)
    }
}
