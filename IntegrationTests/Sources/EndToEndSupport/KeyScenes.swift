import Foundation
import Testing

/// The output of `key --json`.
struct ListedKeys: Decodable {
    struct Slot: Decodable {
        let id: String
        let kind: String
        let opensNow: Bool
    }

    struct Source: Decodable {
        let kind: String
        let command: [String]?
    }

    let slots: [Slot]
    let sources: [Source]
}

/// The steps that the suites of keys share.
protocol KeyScenes {}

extension KeyScenes {
    static var key: String { "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=" }

    func keys(_ account: Tool) async throws -> ListedKeys {
        let outcome = try await account("key", "--json")
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
        return try JSONDecoder().decode(ListedKeys.self, from: Data(outcome.output.utf8))
    }

    /// Runs a test with alice signed in, without a service.
    func run(_ test: (_ account: Tool, _ container: Container) async throws -> Void) async throws {
        try await Container.run { container in
            let account = try Tool.account(in: container)
            try await signIn(account)
            try await test(account, container)
        }
    }

    /// Runs `login` for alice, with a server that runs only meanwhile.
    func logIn(_ account: Tool) async throws -> Outcome {
        try await ExampleServer.run { server in
            try await account(
                "login", "--issuer", server.issuer, "--username", "alice", "--password-stdin",
                input: ExampleServer.alicePassword + "\n")
        }
    }

    func signIn(_ account: Tool) async throws {
        let outcome = try await logIn(account)
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
    }

    /// Returns the command without a controlling terminal, even if the tests have one.
    func detached(_ account: Tool) -> Tool {
        Tool(path: "setsid", environment: account.environment, prefix: ["--wait", account.path] + account.prefix)
    }

    func runDetached(_ account: Tool, _ arguments: String...) async throws -> Outcome {
        try await detached(account).run(arguments)
    }

    /// Adds a passphrase to the archive and removes the key file.
    func lock(_ account: Tool, by passphrase: String) async throws {
        let added = try await Terminal.run(
            account.command(["key", "add", "passphrase"]), .wait("New passphrase: "), .silentNow, .type(passphrase),
            .enter, .wait("Confirm passphrase: "), .type(passphrase), .enter)
        #expect(added.exitCode == 0, "\(added)")
        let removed = try await Terminal.run(
            account.command(["key", "remove", "file"]), .wait("Passphrase: "), .type(passphrase), .enter)
        #expect(removed.exitCode == 0, "\(removed)")
        #expect(!added.screen.contains(passphrase) && !removed.screen.contains(passphrase))
    }
}
