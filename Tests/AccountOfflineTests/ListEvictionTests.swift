#if Offline
import AccountKit
import AccountTesting
import Foundation
import Testing

@testable import AccountOffline

/// How much of the disk lists may take, and what goes first.
struct ListEvictionTests {
    /// A service with 120 notes of a thousand characters, 40 of which have a star.
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

    @Test func `What was not looked at for the longest time goes first, with the items that only it had`() async throws
    {
        let scene = try await scene()
        let notes = try await scene.open(maximumListBytes: 200_000)
        try await notes.refreshAll("all")
        let old = try #require(try await notes.ids().first)
        scene.clock.advance(by: .seconds(7200))
        try await notes.refreshAll("starred")
        // What has a change stays with it.
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

    @Test func `A list that was looked at again stays, and the other one goes`() async throws {
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

    @Test func `The only list stays however large it is`() async throws {
        let scene = try await scene()
        let notes = try await scene.open(maximumListBytes: 160_000)
        try await notes.refreshAll("all")
        // Nothing can go, so the file is not written anew each time.
        #expect(try await notes.lists.evict(keeping: []) == false)
        await notes.close()
        #expect(try await count(scene.open(), "all") == 120)
    }

    @Test func `What is far more than may be stored is an error, and what is stored stays`() async throws {
        let scene = try await scene()
        let notes = try await scene.open(maximumListBytes: 90_000)
        await expectAccountError(.inaccessible) { try await notes.refreshAll("all") }
        let count = try await count(notes, "all")
        #expect([40, 80].contains(count), "\(count)")
        // Changes have a file of their own, which has no limit.
        for number in 1...50 { try await notes.add(.create("\(number) \(String(repeating: "y", count: 4000))")) }
        #expect(try await notes.pendingChanges().count == 50)
        await notes.close()
    }
}
#endif
