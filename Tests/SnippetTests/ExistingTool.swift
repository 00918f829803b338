// snippet.existing
import AccountCommands
import AccountHTTP
import AccountKit
import ArgumentParser
// snippet.end
import Foundation
import Testing

// snippet.existing

struct Tasks: AsyncParsableCommand, AccountApplication {
    static let identifier = "com.example.tasks"
    static let configuration = CommandConfiguration(subcommands: [ListTasks.self, AccountCommand<Tasks>.self])

    static func authority(with options: AuthorityOptions) throws(AccountError) -> any AccountAuthority {
        try OAuthAuthority(issuer: "https://login.example.com", clientID: "tasks", timeout: options.timeout)
    }
}

struct ListTasks: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list")

    func run() async throws {
        let token = try await Tasks.store().accessToken(with: Tasks.authority()).reveal()
        print(try await tasks(with: token))
    }
}
// snippet.end

private func tasks(with token: String) async throws -> String { token }

struct ExistingToolTests {
    @Test func `Adds the account commands to the commands of a tool`() throws {
        #expect(try Tasks.parseAsRoot(["list"]) is ListTasks)
        #expect(Tasks.configuration.subcommands.count == 2)
        #expect(Tasks.helpMessage().contains("account"))
    }
}
