#if Offline
import AccountKit
import AccountTesting
import Foundation
import GRDB
import Testing

@testable import AccountOffline

/// A user, an app's folders and a service, of one test's own.
final class OfflineScene: Sendable {
    let root: String
    let clock = ManualClock()
    let store: AccountStore
    let service: NoteService

    init(pageSize: Int = 3) async throws {
        root = FileManager.default.temporaryDirectory.path + "/offline-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: root, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        store = try await AccountStore.testing(signedIn: .fresh(at: clock.now), clock: clock)
        service = NoteService(pageSize: pageSize)
    }

    deinit { try? FileManager.default.removeItem(atPath: root) }

    /// What a process has open.
    func open(_ remote: Notes? = nil, maximumListBytes: Int = 1 << 24) async throws -> OfflineCollection<Notes> {
        try await OfflineCollection(
            "notes", remote ?? Notes(pageSize: service.pageSize), of: store,
            in: AppContainer(root: root, identifier: "com.example.notes"),
            maximumListBytes: maximumListBytes, clock: clock,
            sending: { [service] in try await service.send($0, $1) })
    }

    func signIn(_ id: String) async throws {
        let account = Account.testing(id: id, at: clock.now)
        try await store.signIn { account }
    }

    /// The service ends the session.
    func endSession() async {
        let authority = ScriptedAuthority(
            verify: [.refuse(.bearerChallenge(error: "invalid_token"))], refresh: [.refuse(.oauthError(.invalidGrant))],
            clock: clock)
        _ = await store.checkSession(with: authority, timeout: nil)
    }

    // MARK: Files

    var files: [String] {
        let names = FileManager.default.enumerator(atPath: root)?.compactMap { $0 as? String } ?? []
        return names.map { root + "/" + $0 }.filter { path in
            (try? FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType) == .typeRegular
        }
    }

    func file(_ name: String) throws -> String { try #require(files.first { $0.hasSuffix("/" + name) }) }
    func bytes(_ path: String) throws -> Data { try Data(contentsOf: URL(filePath: path)) }

    /// The files that have a text somewhere in them, or in their names.
    func files(with text: String) throws -> [String] {
        try files.filter { try $0.contains(text) || bytes($0).range(of: Data(text.utf8)) != nil }
    }

    /// Does something with a database as another program would.
    func withDatabase<Value>(_ name: String, _ body: (Database) throws -> Value) throws -> Value {
        let queue = try DatabaseQueue(path: try file(name))
        defer { try? queue.close() }
        return try queue.writeWithoutTransaction(body)
    }
}

extension OfflineCollection<Notes> {
    /// The ids of a list as it is stored.
    func ids(_ list: String = "all") async throws -> [String] {
        try await snapshot(of: list, limit: 10_000).rows.map(\.id)
    }

    func loadAll(_ list: String = "all") async throws {
        var count = 0
        while try await loadMore(of: list) {
            count += 1
            try #require(count < 200, "it does not come to an end")
        }
    }

    var states: [ChangeState] {
        get async throws { try await pendingChanges().map(\.state) }
    }
}

/// The same numbers for the same seed (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64
    init(_ seed: Int) { state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
#endif
