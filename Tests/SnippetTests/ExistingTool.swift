// snippet.existing
import AccountCommands
import AccountHTTP
import AccountKit
import ArgumentParser
// snippet.end
import AccountTesting
import Foundation
import Testing

// snippet.existing

struct Tasks: AsyncParsableCommand, AccountApplication {
    static let identifier = "com.example.tasks"
    static let configuration = CommandConfiguration(subcommands: [ListTasks.self, AccountCommand<Tasks>.self])

    static func authority(with options: AuthorityOptions) throws(AccountError) -> any AccountAuthority {
        try OAuthAuthority(
            issuer: "https://login.example.com", clientID: "tasks", timeout: options.timeout, logger: options.logger)
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

// snippet.function
/// Returns what `tasks list` prints. A test passes its own store, authority and request.
func list(
    from store: AccountStore, authority: any AccountAuthority, tasks: (_ token: String) async throws -> String
) async throws -> String {
    try await tasks(store.accessToken(with: authority).reveal())
}
// snippet.end

struct ExistingToolTests {
    // snippet.test
    @Test func listsTheTasksWithANewToken() async throws {
        let clock = ManualClock()
        let store = try await AccountStore.inMemory(signedIn: .expired(at: clock.now), clock: clock)
        let service = ScriptedAuthority(clock: clock)
        let output = try await list(from: store, authority: service) { token in "requested with \(token)" }
        #expect(output == "requested with access-2")
        #expect(service.requests == [.refresh])
    }
    // snippet.end

    @Test func `Adds the account commands to the commands of a tool`() throws {
        #expect(try Tasks.parseAsRoot(["list"]) is ListTasks)
        #expect(Tasks.configuration.subcommands.count == 2)
        #expect(Tasks.helpMessage().contains("account"))
    }
}
