import AccountImport
import AccountKit
import AccountTesting
import Foundation
import Testing

enum Imports {
    static func read(_ path: String, _ store: AccountStore) async throws -> [String] {
        // snippet.read
        let imported = try LegacyArchive.read(contentsOf: path, now: .now)
        for warning in imported.warnings { print(warning) }
        try await store.signIn { imported.account }
        // snippet.end
        return imported.warnings
    }
}

struct ImportTests {
    @Test func `Signs in with the imported account of an older app`() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "legacy-\(UUID()).plist").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let fields: [String: String] = ["uid": "42", "login": "alice", "token": "secret-1"]
        try PropertyListEncoder().encode(fields).write(to: URL(filePath: path))
        let store = try await AccountStore.inMemory(signedIn: nil)
        #expect(try await Imports.read(path, store).isEmpty)
        #expect(store.account?.id == "42")
        #expect(store.account?.username == "alice")
    }
}
