#if Offline
import AccountKit
import Foundation
import GRDB
import HTTPTypes
import TestScene
import Testing

@testable import AccountOffline

/// Paging through a list that others change at random. Each seed gives the same changes.
struct ListPagingTests {
    private func change(_ service: NoteService, with random: inout SeededGenerator) async {
        let ids = await service.ids()
        switch Int.random(in: 0..<6, using: &random) {
        case 0, 1: await service.create("new")
        case 2, 3:
            if let id = ids.randomElement(using: &random) {
                await service.edit(id, "edited \(UInt.random(in: 0..<1000, using: &random))")
            }
        case 4: if let id = ids.randomElement(using: &random) { await service.delete(id) }
        default: if let id = ids.randomElement(using: &random) { await service.star(id) }
        }
    }

    /// The ids by version: an edit gives a note a new version.
    private func versions(of service: NoteService) async -> [Int: String] {
        Dictionary(uniqueKeysWithValues: await service.notes.map { ($0.version, $0.id) })
    }

    @Test(arguments: seeds(25))
    func `Finds all unchanged items of a list despite concurrent changes`(
        seed: Int
    ) async throws {
        var random = SeededGenerator(seed)
        let scene = try await OfflineScene(pageSize: Int.random(in: 1...5, using: &random))
        for number in 1...Int.random(in: 5...25, using: &random) { await scene.service.create("text \(number)") }
        let notes = try await scene.open()
        for _ in 1...3 {
            _ = try await notes.refresh("all")
            // Notes that are not changed from here on must be found.
            var untouched = await versions(of: scene.service)
            var pages = 0
            repeat {
                // A list that changes faster than it is paged has no end.
                for _ in 0..<Int.random(in: 0...(pages < 60 ? 3 : 0), using: &random) {
                    await change(scene.service, with: &random)
                }
                let versions = await versions(of: scene.service)
                untouched = untouched.filter { versions[$0.key] != nil }
                if Int.random(in: 0..<6, using: &random) == 0 { _ = try await notes.refresh("all") }
                pages += 1
                try #require(pages < 200, "loading pages does not end")
            } while try await notes.loadMore(of: "all")
            let ids = try await notes.ids()
            #expect(Set(ids).count == ids.count)
            #expect(Set(untouched.values).subtracting(ids) == [])
        }
        // Without further changes, a refresh matches the service.
        try await notes.refreshAll("all")
        let snapshot = try await notes.snapshot(of: "all", limit: 1000)
        #expect(snapshot.rows.map(\.item) == (await scene.service.notes))
        #expect(snapshot.rows.allSatisfy { !$0.followsGap } && !snapshot.hasMore)
        let items = try scene.withDatabase("Lists.sqlite") { try Int.fetchOne($0, sql: "SELECT count(*) FROM item") }
        #expect(items == snapshot.rows.count, "the removed rows are gone")
    }

    @Test(arguments: seeds(20))
    func `Finds all list items despite changes between the requests of a page`(seed: Int) async throws {
        var random = SeededGenerator(seed)
        let scene = try await OfflineScene(pageSize: Int.random(in: 1...4, using: &random))
        for number in 1...20 { await scene.service.create("text \(number)") }
        let notes = try await scene.open()
        _ = try await notes.refresh("all")
        let before = Set(await scene.service.notes)
        // Only one kind of change, so that two changes cannot cancel each other out.
        let removes = Bool.random(using: &random)
        let moments = Set((0..<12).map { _ in Int.random(in: 1...30, using: &random) })
        let ids = await scene.service.ids().shuffled(using: &random)
        await scene.service.beforeResponse { [service = scene.service] _ in
            let count = await service.requests.count
            guard moments.contains(count) else { return }
            if removes { await service.delete(ids[count % ids.count]) } else { await service.create("new") }
        }
        try await notes.loadAll()
        await scene.service.beforeResponse(nil)
        let untouched = Set(before.intersection(await scene.service.notes).map(\.id))
        let paths = await scene.service.requests.map { $0.path ?? "" }
        #expect(untouched.subtracting(try await notes.ids()) == [], "\(removes) \(paths)")
        try await notes.refreshAll("all")
        #expect(try await notes.ids() == (await scene.service.ids()))
    }

    @Test(arguments: seeds(12))
    func `Keeps a list item that moved in another list`(seed: Int) async throws {
        var random = SeededGenerator(seed)
        let scene = try await OfflineScene(pageSize: Int.random(in: 2...4, using: &random))
        for number in 1...15 {
            let id = await scene.service.create("text \(number)")
            if number.isMultiple(of: 3) { await scene.service.star(id) }
        }
        let notes = try await scene.open()
        try await notes.refreshAll("all")
        try await notes.refreshAll("starred")
        let starred = try await notes.ids("starred")
        for _ in 1...6 {
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let ids = await scene.service.ids()
                await scene.service.edit(ids.randomElement(using: &random)!, "moved")
            }
            _ = try await notes.refresh("all")
            _ = try await notes.loadMore(of: "all")
            #expect(try await notes.ids("starred") == starred)
        }
        try await notes.loadAll()
        try await notes.refreshAll("all")
        #expect(try await notes.ids() == (await scene.service.ids()))
        #expect(try await notes.ids("starred") == starred)
    }

    @Test func `Loads each page of a list with stable cursors in one request`() async throws {
        let scene = try await OfflineScene(pageSize: 4)
        for number in 1...20 { await scene.service.create("text \(number)") }
        let notes = try await scene.open(Notes(hasNumbers: false))
        _ = try await notes.refresh("all")
        try await notes.loadAll()
        #expect(try await notes.ids() == (await scene.service.ids()))
        #expect(await scene.service.requests.count == 5)
    }

    @Test(arguments: [true, false])
    func `Omits no list item if another process stores a page out of order`(isWhole: Bool) async throws {
        let scene = try await OfflineScene(pageSize: 4)
        for number in 1...20 { await scene.service.create("text \(number)") }
        let notes = try await scene.open(Notes(pageSize: 4, hasNumbers: false, hasCursors: true))
        let other = try await scene.open(Notes(pageSize: 4, hasNumbers: false, hasCursors: true))
        if !isWhole {
            _ = try await notes.refresh("all")
            _ = try await notes.loadMore(of: "all")
        }
        await scene.service.beforeResponse { request in
            guard request.path?.contains("after-n13") == true else { return }
            await scene.service.beforeResponse(nil)
            for number in 21...28 { await scene.service.create("text \(number)") }
            let snapshot = try await other.refresh("all")
            #expect(snapshot.problem == nil)
        }
        if isWhole { try await notes.refreshAll("all") }
        try await notes.loadAll()
        #expect(try await notes.ids() == (await scene.service.ids()))
        #expect(try await notes.snapshot(of: "all", limit: 100).rows.allSatisfy { !$0.followsGap })
    }

    @Test func `Stores and shows a long list in bounded time, even as a single page`() async throws {
        let scene = try await OfflineScene(pageSize: 3000)
        for number in 1...3000 { await scene.service.create("text \(number)") }
        let notes = try await scene.open()
        #expect(try await notes.refresh("all", limit: 10).rows.count == 10)
        await scene.service.delete("n1500")
        #expect(try await notes.refresh("all").problem == nil)
        #expect(try await notes.ids().count == 2999)
    }
}
#endif
