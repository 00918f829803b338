#if Offline
import AccountKit
import AccountTesting
import Foundation
import GRDB
import TestScene
import Testing

@testable import AccountOffline

/// A user, an app's folders and a service for one test.
struct OfflineScene: Sendable {
    let scene: TestScene
    let service: NoteService

    init(pageSize: Int = 3) async throws {
        scene = try await TestScene()
        service = NoteService(pageSize: pageSize)
    }

    var root: String { scene.root }
    var clock: ManualClock { scene.clock }
    var store: AccountStore { scene.store }

    /// The collection of a new process.
    func open(_ remote: Notes? = nil, maximumListBytes: Int = 1 << 24) async throws -> OfflineCollection<Notes> {
        try await OfflineCollection(
            "notes", remote ?? Notes(pageSize: service.pageSize), of: store,
            in: AppContainer(root: root, identifier: "com.example.notes"),
            maximumListBytes: maximumListBytes, clock: clock,
            waiting: { [service, clock] duration in
                clock.advance(by: duration)
                try await service.carryOutLateRequests()
            }, sending: { [service] in try await service.send($0, $1) })
    }

    func signIn(_ id: String) async throws { try await scene.signIn(id) }
    func endSession() async { await scene.endSession() }

    // MARK: Files

    var files: [String] { scene.files }
    func file(_ name: String) throws -> String { try scene.file(name) }
    func bytes(_ path: String) throws -> Data { try scene.bytes(path) }
    func files(with text: String) throws -> [String] { try scene.files(with: text) }

    /// Accesses a database like another program.
    func withDatabase<Value>(_ name: String, _ body: (Database) throws -> Value) throws -> Value {
        let queue = try DatabaseQueue(path: try file(name))
        defer { try? queue.close() }
        return try queue.writeWithoutTransaction(body)
    }
}

extension OfflineCollection<Notes> {
    /// The ids of a stored list.
    func ids(_ list: String = "all") async throws -> [String] {
        try await snapshot(of: list, limit: 10_000).rows.map(\.id)
    }

    func loadAll(_ list: String = "all") async throws {
        var count = 0
        while try await loadMore(of: list) {
            count += 1
            try #require(count < 200, "the synchronization does not end")
        }
    }

    var states: [ChangeState] {
        get async throws { try await pendingChanges().map(\.state) }
    }
}
#endif
