#if Offline
import AccountKit
import AccountTesting
import Foundation
import Testing

@testable import AccountOffline

/// The disk space of lists, and the order of eviction.
struct ListEvictionTests {
    /// A service with 120 notes of a thousand characters, 40 of which are starred.
    private func scene() async throws -> OfflineScene {
        let scene = try await OfflineScene(pageSize: 40)
        for number in 1...120 {
            let id = await scene.service.create("\(number) \(String(repeating: "x", count: 1000))")
            if number <= 40 { await scene.service.star(id) }
        }
        return scene
    }

    private func count(_ notes: OfflineCollection<Notes>, _ list: String) async throws -> Int {
        try await notes.snapshot(of: list, limit: 1000).rows.count
    }

    @Test func `Evicts the least recently viewed list and its unshared items`() async throws {
        let scene = try await scene()
        let notes = try await scene.open(maximumListBytes: 200_000)
        try await notes.refreshAll("all")
        let old = try #require(try await notes.ids().first)
        scene.clock.advance(by: .seconds(7200))
        try await notes.refreshAll("starred")
        // An item with a pending change is kept.
        try await notes.add(.update(old, "changed"))
        let before = try await notes.storedLists()
        #expect(before.map(\.name) == ["all", "starred"])
        #expect(before[0].byteCount > 120_000 && before[1].byteCount < 60_000)
        await notes.close()

        let again = try await scene.open(maximumListBytes: 200_000)
        #expect(try await again.storedLists().map(\.name) == ["starred"])
        #expect(try await count(again, "starred") == 40)
        #expect(try await again.item(old)?.text == "changed")
        let size = try FileManager.default.attributesOfItem(atPath: scene.file("Lists.sqlite"))[.size] as? Int
        #expect(try #require(size) < 200_000)
        #expect(try await again.refresh("all").rows.count == 30)
    }

    @Test func `Keeps a list that was viewed again from eviction`() async throws {
        let scene = try await scene()
        let notes = try await scene.open(maximumListBytes: 400_000)
        try await notes.refreshAll("starred")
        scene.clock.advance(by: .seconds(7200))
        try await notes.refreshAll("all")
        scene.clock.advance(by: .seconds(7200))
        _ = try await notes.snapshot(of: "starred")
        let small = try await scene.open(maximumListBytes: 100_000)
        await small.close()
        let left = try await notes.storedLists()
        #expect(left.map(\.name) == ["starred"], "\(left)")
        await notes.close()
    }

    @Test func `Keeps the only list, however large the list is`() async throws {
        let scene = try await scene()
        let notes = try await scene.open(maximumListBytes: 160_000)
        try await notes.refreshAll("all")
        // Nothing can be evicted, so the file is not rewritten each time.
        #expect(try await notes.lists.evict(keeping: []) == false)
        await notes.close()
        #expect(try await count(scene.open(), "all") == 120)
    }

    @Test func `Refuses list data far above the limit, and keeps the stored lists`() async throws {
        let scene = try await scene()
        let notes = try await scene.open(maximumListBytes: 90_000)
        await expectAccountError(.inaccessible) { try await notes.refreshAll("all") }
        let count = try await count(notes, "all")
        #expect([40, 80].contains(count), "\(count)")
        // Changes are stored in a separate file without a limit.
        for number in 1...50 { try await notes.add(.create("\(number) \(String(repeating: "y", count: 4000))")) }
        #expect(try await notes.pendingChanges().count == 50)
        await notes.close()
    }
}
#endif
