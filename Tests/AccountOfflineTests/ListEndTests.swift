#if Offline
import AccountKit
import AccountTesting
import Foundation
import GRDB
import HTTPTypes
import Testing

@testable import AccountOffline

/// Lists end, have no holes, and lose rows only to a response that is known to be complete.
struct ListEndTests {
    private func scene(_ count: Int, pageSize: Int = 3) async throws -> OfflineScene {
        let scene = try await OfflineScene(pageSize: pageSize)
        for number in 1...count { await scene.service.create("text \(number)") }
        return scene
    }

    private static let kinds = [Notes(), Notes(hasNumbers: false), Notes(hasNumbers: false, hasCursors: true)]

    // MARK: The end

    /// The page sizes of the service and of the adapter.
    @Test(arguments: [(2, 3), (2, 7), (3, 5), (5, 7), (5, 100), (7, 3), (50, 3), (3, 2)])
    func `Ends a list of a service that ignores the requested page size`(service: Int, adapter: Int) async throws {
        let scene = try await scene(26, pageSize: service)
        let notes = try await scene.open(Notes(pageSize: adapter))
        _ = try await notes.refresh("all")
        try await notes.loadAll()
        #expect(try await notes.ids() == (await scene.service.ids()))
        #expect(try await !notes.snapshot(of: "all", limit: 100).hasMore)
        await scene.service.create("new")
        await scene.service.delete("n9")
        try await notes.refreshAll("all")
        let rows = try await notes.snapshot(of: "all", limit: 100).rows
        #expect(rows.map(\.id) == (await scene.service.ids()))
        #expect(rows.allSatisfy { !$0.followsGap })
    }

    @Test(arguments: [1, 3, 4, 7, 9])
    func `Ends a list of numbered pages that link beyond the last page`(count: Int) async throws {
        let scene = try await scene(count)
        await scene.service.linkBeyondEnd()
        let notes = try await scene.open()
        _ = try await notes.refresh("all")
        try await notes.loadAll()
        #expect(try await notes.ids() == (await scene.service.ids()))
        try await notes.refreshAll("all")
        #expect(try await !notes.snapshot(of: "all", limit: 100).hasMore)
        #expect(try await notes.ids() == (await scene.service.ids()))
    }

    @Test func `Reports a list whose pages never bring another item`() async throws {
        let scene = try await scene(3)
        let notes = try await scene.open(Notes(hasNumbers: false))
        _ = try await notes.refresh("all")
        await scene.service.linkBeyondEnd()
        await scene.service.changeEntityTags()
        _ = try await notes.refresh("all")
        await expectAccountError(.requestRefused) { try await notes.loadAll() }
        await expectAccountError(.requestRefused) { try await notes.refreshAll("all") }
        #expect(try await notes.ids() == ["n3", "n2", "n1"])
        #expect(await scene.service.requests.count < 60)
    }

    // MARK: Responses without a link

    @Test(arguments: kinds, [1, 2, 4])
    func `Keeps all rows of a list if one response has no link`(remote: Notes, page: Int) async throws {
        let scene = try await scene(14)
        let notes = try await scene.open(remote)
        try await notes.refreshAll("all")
        let ids = await scene.service.ids()
        await scene.service.changeEntityTags()
        if page == 1 {
            await scene.service.omitLinks(inNext: 1)
            #expect(try await notes.refresh("all").problem == nil)
            #expect(try await notes.ids() == ids)
        }
        // In a pass through the whole list, the response of a later page has no link.
        await scene.service.beforeResponse { [service = scene.service] _ in
            if await service.requests.count == page - 1 { await service.omitLinks(inNext: 1) }
        }
        await scene.service.changeEntityTags()
        await scene.service.forgetRequests()
        if page == 1 { await scene.service.omitLinks(inNext: 1) }
        try await notes.refreshAll("all")
        await scene.service.beforeResponse(nil)
        #expect(try await notes.ids() == ids)
        for id in ids { #expect(try await notes.item(id) != nil) }
    }

    @Test(arguments: kinds)
    func `Removes the rows of a list that has become short`(remote: Notes) async throws {
        let scene = try await scene(11)
        let notes = try await scene.open(remote)
        try await notes.refreshAll("all")
        for number in 1...8 { await scene.service.delete("n\(number)") }
        // A 304 response without a link says nothing about the end.
        await scene.service.changeEntityTags()
        #expect(try await notes.refresh("all").problem == nil)
        #expect(try await notes.ids() == ["n11", "n10", "n9"])
        #expect(try await notes.item("n4") == nil)
    }

    @Test func `Keeps the rows of a list if the end cannot be confirmed`() async throws {
        let scene = try await scene(11)
        let notes = try await scene.open()
        try await notes.refreshAll("all")
        await scene.service.changeEntityTags()
        await scene.service.omitLinks(inNext: 1)
        await scene.service.fail { $0.path == "/all?page=2" ? .status(503) : nil }
        #expect(try await notes.refresh("all").problem != nil)
        #expect(try await notes.ids() == (await scene.service.ids()))
    }

    // MARK: Holes

    @Test(arguments: [["n8"], ["n8", "n7", "n6"], ["n7", "n5", "n4"], ["n5", "n2"], ["n1"]])
    func `Shows each row on one page while deletes wait`(deleted: [String]) async throws {
        let scene = try await scene(8)
        let notes = try await scene.open()
        try await notes.refreshAll("all")
        for id in deleted { try await notes.add(Change(.delete, of: id)) }
        let expected = await scene.service.ids().filter { !deleted.contains($0) }
        var shown: [String] = []
        var snapshot = try await notes.snapshot(of: "all", limit: 2)
        while true {
            #expect(snapshot.rows.count == 2 || !snapshot.hasMore)
            shown += snapshot.rows.map(\.id)
            guard snapshot.hasMore, let last = shown.last else { break }
            snapshot = try await notes.snapshot(of: "all", after: last, limit: 2)
        }
        #expect(shown == expected)
        for limit in 1...8 {
            #expect(try await notes.snapshot(of: "all", limit: limit).rows.map(\.id) == Array(expected.prefix(limit)))
        }
    }

    @Test func `Marks a gap of a list even if the row after it is hidden`() async throws {
        let scene = try await scene(6)
        let notes = try await scene.open()
        _ = try await notes.refresh("all")
        try await notes.loadAll()
        for number in 7...11 { await scene.service.create("text \(number)") }
        _ = try await notes.refresh("all")
        try await notes.add(Change(.delete, of: "n6"))
        #expect(try await notes.snapshot(of: "all").rows.filter(\.followsGap).map(\.id) == ["n5"])
        // A page that begins after the gap says so, too.
        #expect(try await notes.snapshot(of: "all", after: "n9").rows.first?.followsGap == true)
    }

    @Test func `Shows a starred item once, even if it is on a later page`() async throws {
        let scene = try await scene(8)
        for number in 1...8 { await scene.service.star("n\(number)") }
        let notes = try await scene.open()
        try await notes.refreshAll("starred")
        try await notes.add(Change(.star, of: "n2"))
        #expect(try await notes.snapshot(of: "starred", limit: 3).rows.map(\.id) == ["n8", "n7", "n6"])
        #expect(try await notes.ids("starred") == (await scene.service.ids("starred")))
    }

    // MARK: Rows that return

    /// How a row of the first page vanishes from this machine, although the service has it.
    enum Loss: CaseIterable { case notFound, hidden, evicted }

    @Test(arguments: Loss.allCases)
    func `Shows a row again if the service has it, although its page is unchanged`(loss: Loss) async throws {
        let scene = try await scene(5)
        await scene.service.star("n4")
        let notes = try await scene.open()
        _ = try await notes.refresh("starred")
        _ = try await notes.refresh("all")
        switch loss {
        case .notFound:
            await scene.service.fail(.status(404, body: "{}"))
            await expectAccountError(.requestRefused) { try await notes.refreshItem("n4") }
        case .hidden: try await notes.lists.remove("n4", from: ["all", "starred"])
        case .evicted:
            try scene.withDatabase("Lists.sqlite") { try $0.execute(sql: "DELETE FROM entry WHERE item = 2") }
        }
        _ = try await notes.refresh("starred")
        let snapshot = try await notes.refresh("all")
        #expect(snapshot.problem == nil)
        #expect(snapshot.rows.map(\.id) == ["n5", "n4", "n3"])
        #expect(try await notes.ids("starred") == ["n4"])
        // The next request is conditional again.
        #expect(try await notes.refresh("all").source == .notModified)
    }

    @Test func `Removes a row that was created here and deleted elsewhere`() async throws {
        let scene = try await scene(2)
        let notes = try await scene.open()
        _ = try await notes.refresh("all")
        try await notes.add(.create("made"))
        _ = try await notes.synchronize()
        #expect(try await notes.ids() == ["n3", "n2", "n1"])
        // The page is as before the change, and so is its entity tag.
        await scene.service.delete("n3")
        #expect(try await notes.refresh("all").problem == nil)
        #expect(try await notes.ids() == ["n2", "n1"])
    }
}
#endif
