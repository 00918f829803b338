import AccountKit
import ArgumentParser
import Testing

@testable import AccountCommands

@Suite struct KeyCommandTests {
    private enum App: AccountApplication {
        static let identifier = "com.example.app"

        static func authority(with options: AuthorityOptions) throws(AccountError) -> any AccountAuthority {
            throw AccountError(.misconfigured, "not needed here")
        }
    }

    @Test(arguments: [
        (["file", "--", "cat"], "key add command -- PROGRAM"), (["command"], "key add command -- secret-tool"),
    ])
    func `key add says how to name a program`(arguments: [String], advice: String) throws {
        let error = try #require(throws: (any Error).self) { try KeyAddCommand<App>.parse(arguments) }
        #expect(KeyAddCommand<App>.message(for: error).contains(advice))
    }
}
