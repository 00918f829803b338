#if Offline
import AccountKit
import Foundation
import Testing

@testable import AccountOffline

/// Reports changes by other processes, but not its own.
struct FollowingCollectionTests {
    @Test func `Reports changes that another collection makes to outbox and lists`() async throws {
        let scene = try await OfflineScene()
        await scene.service.create("one")
        let watcher = try await scene.open()
        let other = try await scene.open()
        var changes = watcher.changes().makeAsyncIterator()
        try await other.add(.create("mine"))
        try await changes.next()
        while try await watcher.pendingChanges().isEmpty { try await changes.next() }
        #expect(try await watcher.snapshot(of: "all").rows.map(\.item.text) == ["mine"])
        _ = try await other.refresh("all")
        while try await watcher.ids().count < 2 { try await changes.next() }
        #expect(try await watcher.ids().last == "n1")
        await other.close()
        await watcher.close()
    }

    @Test func `Completes reads that run while a collection closes`() async throws {
        let scene = try await OfflineScene()
        await scene.service.create("one")
        let notes = try await scene.open()
        _ = try await notes.refresh("all")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 1...20 {
                group.addTask {
                    let ids = try await notes.ids()
                    #expect(ids == ["n1"])
                }
            }
            await notes.close()
            try await group.waitForAll()
        }
        #expect(try await notes.ids() == ["n1"])
        try await notes.add(.create("two"))
        #expect(try await notes.synchronize().sentCount == 1)
    }

    @Test func `Does not report a collection's own changes`() async throws {
        let scene = try await OfflineScene()
        let watcher = try await scene.open()
        let other = try await scene.open()
        let before = try await watcher.outbox.database.version()
        try await watcher.add(.create("own"))
        #expect(try await watcher.outbox.database.version() == before)
        try await other.add(.create("another's"))
        #expect(try await watcher.outbox.database.version() != before)
        await other.close()
        await watcher.close()
    }
}
#endif
