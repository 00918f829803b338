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

    /// Runs a test with wang signed in, without a service.
    func run(_ test: (_ account: Tool, _ container: Container) async throws -> Void) async throws {
        try await Container.run { container in
            let account = try Tool.account(in: container)
            try await signIn(account, container)
            try await test(account, container)
        }
    }

    private func legacyFile(_ container: Container) async throws -> String {
        let file = container.path("old.plist")
        let made = try await Command(
            words: ["python3", "-B", BuiltProducts.fixture("legacy_archive.py"), "binary", "canary-token", file]
        ).run()
        guard made.exitCode == 0 else { throw Unexpected(made) }
        return file
    }

    func signIn(_ account: Tool, _ container: Container) async throws {
        let outcome = try await account("import", try await legacyFile(container))
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
    }

    /// Runs the command without a controlling terminal, even if the tests have one.
    func runDetached(_ account: Tool, _ arguments: String...) async throws -> Outcome {
        try await account.command(arguments).run(by: "setsid", "--wait").run()
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
