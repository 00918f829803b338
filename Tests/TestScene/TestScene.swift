package import AccountKit
package import AccountTesting
package import Foundation
import Testing

/// A signed-in user and the folders of an app, for one test.
package final class TestScene: Sendable {
    package let root: String
    package let clock = ManualClock()
    package let store: AccountStore

    package init() async throws {
        root = FileManager.default.temporaryDirectory.path + "/scene-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: root, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        store = try await AccountStore.inMemory(signedIn: .fresh(at: clock.now), clock: clock)
    }

    deinit { try? FileManager.default.removeItem(atPath: root) }

    package func signIn(_ id: String) async throws {
        let account = Account.testing(id: id, at: clock.now)
        try await store.signIn { account }
    }

    /// Makes the service end the session.
    package func endSession() async {
        let authority = ScriptedAuthority(
            verify: [.refuse(.unauthorized(error: "invalid_token"))], refresh: [.refuse(.oauthError("invalid_grant"))],
            clock: clock)
        _ = await store.checkSession(with: authority, timeout: nil)
    }

    // MARK: Files

    package var files: [String] {
        let names = FileManager.default.enumerator(atPath: root)?.compactMap { $0 as? String } ?? []
        return names.map { root + "/" + $0 }.filter { path in
            (try? FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType) == .typeRegular
        }
    }

    package func file(_ name: String) throws -> String { try #require(files.first { $0.hasSuffix("/" + name) }) }
    package func bytes(_ path: String) throws -> Data { try Data(contentsOf: URL(filePath: path)) }

    /// The files that contain a string in their content or name.
    package func files(with text: String) throws -> [String] {
        try files.filter { try $0.contains(text) || bytes($0).range(of: Data(text.utf8)) != nil }
    }
}
