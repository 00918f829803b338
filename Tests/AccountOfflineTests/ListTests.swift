#if Offline
import AccountKit
import AccountTesting
import Foundation
import GRDB
import HTTPTypes
import Testing

@testable import AccountOffline

/// Lists that are read without the service, and refreshed with as few requests as possible.
struct ListTests {
    private func scene(_ count: Int = 8) async throws -> OfflineScene {
        let scene = try await OfflineScene()
        for number in 1...count { await scene.service.create("text \(number)") }
        return scene
    }

    // MARK: Pages

    @Test func `Stores list pages in order, and reads the pages in another process`()
        async throws
    {
        let scene = try await scene()
        let notes = try await scene.open()
        #expect(try await notes.snapshot(of: "all").rows.isEmpty)
        #expect(try await notes.snapshot(of: "all").asOf == nil)
        var snapshot = try await notes.refresh("all")
        #expect(snapshot.rows.map(\.id) == ["n8", "n7", "n6"])
        #expect(snapshot.source == .network && snapshot.hasMore && snapshot.problem == nil)
        #expect(snapshot.asOf == scene.clock.now)
        #expect(try await notes.loadMore(of: "all"))
        #expect(try await notes.ids() == ["n8", "n7", "n6", "n5", "n4", "n3"])
        #expect(try await !notes.loadMore(of: "all"))
        #expect(try await !notes.loadMore(of: "all"))
        await scene.service.forgetRequests()
        snapshot = try await scene.open().snapshot(of: "all")
        #expect(snapshot.rows.map(\.item.text) == (1...8).reversed().map { "text \($0)" })
        #expect(snapshot.source == .disk && !snapshot.hasMore)
        #expect(try await notes.snapshot(of: "all", limit: 2).hasMore)
        #expect(await scene.service.requests.isEmpty)
        #expect(try await notes.storedLists().map(\.count) == [8])
    }

    @Test func `Leaves a gap below a first page without overlap until paging`() async throws {
        let scene = try await scene(6)
        let notes = try await scene.open()
        _ = try await notes.refresh("all")
        try await notes.loadAll()
        for number in 7...11 { await scene.service.create("text \(number)") }
        let snapshot = try await notes.refresh("all")
        #expect(snapshot.rows.map(\.id) == ["n11", "n10", "n9", "n6", "n5", "n4", "n3", "n2", "n1"])
        #expect(snapshot.rows.filter(\.followsGap).map(\.id) == ["n6"])
        #expect(snapshot.hasMore)
        await scene.service.forgetRequests()
        #expect(try await !notes.loadMore(of: "all"), "the rows below are already stored")
        #expect(try await notes.ids() == (1...11).reversed().map { "n\($0)" })
        #expect(try await notes.snapshot(of: "all").rows.allSatisfy { !$0.followsGap })
        #expect(await scene.service.requests.count <= 2)
    }

    @Test func `Moves an item to the front of a list without moving other items`() async throws {
        let scene = try await scene(8)
        let notes = try await scene.open()
        _ = try await notes.refresh("all")
        try await notes.loadAll()
        await scene.service.star("n5")
        _ = try await notes.refresh("starred")
        await scene.service.edit("n3", "moved")
        #expect(try await notes.refresh("all").rows.map(\.id) == ["n3", "n8", "n7", "n6", "n5", "n4", "n2", "n1"])
        // A page that contains only moved items does not show the earlier order.
        for id in ["n4", "n5", "n6"] { await scene.service.edit(id, "moved") }
        let snapshot = try await notes.refresh("all")
        #expect(snapshot.rows.map(\.id) == ["n6", "n5", "n4", "n3", "n8", "n7", "n2", "n1"])
        #expect(snapshot.rows.filter(\.followsGap).map(\.id) == ["n3"])
        #expect(try await notes.ids("starred") == ["n5"])
        try await notes.loadAll()
        #expect(try await notes.ids() == (await scene.service.ids()))
        #expect(try await notes.snapshot(of: "all").rows.allSatisfy { !$0.followsGap })
    }

    @Test func `Removes an item from all lists if a complete list omits the item`() async throws {
        let scene = try await scene(8)
        let notes = try await scene.open()
        for id in ["n8", "n7", "n2", "n1"] { await scene.service.star(id) }
        try await notes.refreshAll("all")
        try await notes.refreshAll("starred")
        #expect(try await notes.ids() == (await scene.service.ids()))
        await scene.service.delete("n7")
        #expect(try await notes.refresh("all").rows.map(\.id) == ["n8", "n6", "n5", "n4", "n3", "n2", "n1"])
        #expect(try await notes.ids("starred") == ["n8", "n2", "n1"])
        // Below the first page, only a full refresh detects the removal.
        await scene.service.delete("n2")
        _ = try await notes.refresh("all")
        #expect(try await notes.ids().contains("n2"))
        try await notes.refreshAll("all")
        #expect(try await notes.ids() == ["n8", "n6", "n5", "n4", "n3", "n1"])
        #expect(try await notes.ids("starred") == ["n8", "n1"])
        #expect(try await notes.item("n2") == nil)
        // An item that is no longer starred still exists.
        await scene.service.delete("n1")
        #expect(try await notes.refresh("starred").rows.map(\.id) == ["n8"])
        #expect(try await notes.ids().contains("n1"))
    }

    // MARK: Unchanged lists

    @Test func `Updates only the list's date on a 304 response`() async throws {
        let scene = try await scene()
        let notes = try await scene.open()
        _ = try await notes.refresh("all")
        let before = try scene.rows()
        scene.clock.advance(by: .seconds(100))
        await scene.service.forgetRequests()
        let snapshot = try await notes.refresh("all")
        #expect(snapshot.source == .notModified)
        #expect(snapshot.asOf == scene.clock.now)
        #expect(snapshot.rows.count == 3)
        #expect(await scene.service.requests.compactMap { $0.headerFields[.ifNoneMatch] }.count == 1)
        #expect(try scene.rows() == before)
    }

    @Test(arguments: [false, true])
    func `Ends the counts of idle requests on a 304 response`(changesLinks: Bool) async throws {
        let scene = try await scene()
        let notes = try await scene.open(Notes(hasNumbers: false))
        _ = try await notes.refresh("all")
        for expected in 1...3 {
            let count = try await notes.lists.noteIdleRequest(for: "all")
            #expect(count.recent == expected && count.all == expected)
        }
        if changesLinks { await scene.service.changeLinks() }
        #expect(try await notes.refresh("all").source == .notModified)
        let count = try await notes.lists.noteIdleRequest(for: "all")
        #expect(count.recent == 1 && count.all == 1)
    }

    @Test func `Updates the next page on a 304 response with a new Link header`() async throws {
        let scene = try await scene()
        let notes = try await scene.open(Notes(hasNumbers: false))
        _ = try await notes.refresh("all")
        await scene.service.changeLinks()
        #expect(try await notes.refresh("all").source == .notModified)
        await scene.service.forgetRequests()
        try await notes.loadAll()
        #expect(await scene.service.requests.map(\.path).contains("/all?page=2&x"))
        #expect(try await notes.ids() == (await scene.service.ids()))
        // If more than the first page is stored, the link does not show where the list ends.
        await scene.service.changeLinks()
        #expect(try await notes.refresh("all").source == .notModified)
        #expect(try await !notes.snapshot(of: "all").hasMore)
    }

    @Test func `Does not rewrite unchanged rows of a list with a new entity tag`() async throws {
        let scene = try await scene()
        let notes = try await scene.open()
        _ = try await notes.refresh("all")
        let before = try scene.rows()
        await scene.service.changeEntityTags()
        #expect(try await notes.refresh("all").source == .network)
        #expect(try scene.rows(of: ["item"]) == before.filter { $0.hasPrefix("item") })
    }

    @Test(arguments: [Notes(), Notes(hasNumbers: false), Notes(hasNumbers: false, hasCursors: true)])
    func `Requests an unchanged list page by page without transferring rows`(remote: Notes) async throws {
        let scene = try await scene(10)
        try await scene.open(remote).refreshAll("all")
        let ids = await scene.service.ids()
        for _ in 1...2 {
            await scene.service.forgetRequests()
            scene.clock.advance(by: .seconds(100))
            let notes = try await scene.open(remote)
            try await notes.refreshAll("all")
            #expect(await scene.service.statuses.count >= 4)
            #expect(await scene.service.statuses.allSatisfy { $0 == 304 })
            #expect(try await notes.ids() == ids)
            #expect(try await notes.snapshot(of: "all").asOf == scene.clock.now)
            #expect(try await notes.snapshot(of: "all").rows.allSatisfy { !$0.followsGap })
        }
    }

    @Test(arguments: [Notes(), Notes(hasNumbers: false), Notes(hasNumbers: false, hasCursors: true)])
    func `Transfers only the changed pages in a refresh of a whole list`(remote: Notes) async throws {
        let scene = try await scene(30)
        let notes = try await scene.open(remote)
        try await notes.refreshAll("all")
        await scene.service.edit("n29", "edited")
        await scene.service.forgetRequests()
        try await notes.refreshAll("all")
        let statuses = await scene.service.statuses
        #expect(statuses.contains(304))
        // The first page, and the page that overlaps it if pages have numbers.
        #expect((1...2).contains(statuses.count { $0 == 200 }), "\(statuses)")
        #expect(try await notes.ids() == (await scene.service.ids()))
        #expect(try await notes.snapshot(of: "all", limit: 1).rows.first?.item.text == "edited")
    }

    /// A change between two refreshes.
    enum Meanwhile: CaseIterable {
        case nothing, createdThere, deletedThere, editedThere, lastDeletedThere, createdHere, deletedHere, editedHere
        case otherList, refreshedFirst, evicted
    }

    @Test(arguments: Meanwhile.allCases, [true, false])
    func `Keeps the rows of an unchanged page if other pages change`(meanwhile: Meanwhile, hasNumbers: Bool)
        async throws
    {
        let scene = try await scene(11)
        let service = scene.service
        await service.star("n4")
        let notes = try await scene.open(Notes(hasNumbers: hasNumbers))
        try await notes.refreshAll("all")
        switch meanwhile {
        case .nothing: break
        case .createdThere: await service.create("created")
        case .deletedThere: await service.delete("n6")
        case .editedThere: await service.edit("n5", "edited")
        case .lastDeletedThere: for id in ["n1", "n2"] { await service.delete(id) }
        case .createdHere: try await notes.add(.create("created"))
        case .deletedHere: try await notes.add(Change(.delete, of: "n6"))
        case .editedHere: try await notes.add(.update("n5", "edited"))
        case .otherList:
            await service.edit("n4", "edited")
            _ = try await notes.refresh("starred")
        case .refreshedFirst:
            for number in 1...4 { await service.create("created \(number)") }
            _ = try await notes.refresh("all")
            for number in 12...15 { await service.delete("n\(number)") }
        case .evicted:
            try scene.withDatabase("Lists.sqlite") { try $0.execute(sql: "DELETE FROM item WHERE n % 2 = 0") }
        }
        _ = try await notes.synchronize()
        for _ in 1...2 {
            try await notes.refreshAll("all")
            let rows = try await notes.snapshot(of: "all", limit: 100).rows
            #expect(rows.map(\.id) == (await service.ids()))
            #expect(rows.map(\.item.text) == (await service.notes.map(\.text)))
            #expect(rows.allSatisfy { !$0.followsGap })
        }
    }

    // MARK: Implausible responses

    @Test func `Hides an unexpectedly empty list until a second response confirms it`() async throws {
        let scene = try await scene()
        let notes = try await scene.open()
        try await notes.refreshAll("all")
        let stored = scene.clock.now
        await scene.service.deleteAll()
        scene.clock.advance(by: .seconds(60))
        for _ in 1...2 {
            let snapshot = try await notes.refresh("all")
            #expect(snapshot.rows.count == 8)
            #expect(snapshot.problem?.message.contains("empty") == true)
            #expect(snapshot.asOf == stored)
            scene.clock.advance(by: .seconds(299))
        }
        scene.clock.advance(by: .seconds(2))
        let snapshot = try await notes.refresh("all")
        #expect(snapshot.rows.isEmpty && snapshot.problem == nil)
    }

    @Test func `Forgets an unexpectedly empty list after a response with items`() async throws {
        let scene = try await scene()
        let notes = try await scene.open()
        _ = try await notes.refresh("all")
        let empty = NoteService.Fault.status(200, body: "[]")
        await scene.service.fail(empty)
        #expect(try await notes.refresh("all").problem != nil)
        scene.clock.advance(by: .seconds(700))
        #expect(try await notes.refresh("all").problem == nil)
        await scene.service.fail(empty)
        #expect(try await notes.refresh("all").problem != nil)
        // Setting the clock back does not delay the confirmation indefinitely.
        scene.clock.advance(by: .seconds(-100_000))
        await scene.service.fail(empty, empty)
        #expect(try await notes.refresh("all").problem != nil)
        scene.clock.advance(by: .seconds(601))
        #expect(try await notes.refresh("all").problem == nil)
        #expect(try await notes.ids().isEmpty)
    }

    @Test(arguments: [
        (NoteService.Fault.portal, AccountError.Code.serviceUnavailable), (.status(401), .requestRefused),
        (.status(403), .requestRefused), (.status(404), .requestRefused), (.status(429), .serviceUnavailable),
        (.status(403, ["Retry-After": "5"]), .serviceUnavailable), (.status(500), .serviceUnavailable),
        (.status(503), .serviceUnavailable), (.status(302), .serviceUnavailable), (.status(204), .serviceUnavailable),
        (.status(200, body: "{"), .serviceUnavailable), (.proxy, .serviceUnavailable), (.refused, .serviceUnavailable),
        (.lost, .serviceUnavailable),
    ])
    func `Never stores an invalid page of a list`(fault: NoteService.Fault, code: AccountError.Code) async throws {
        let scene = try await scene()
        let notes = try await scene.open()
        await scene.service.fail(fault)
        let first = try await notes.refresh("all")
        #expect(first.rows.isEmpty && first.asOf == nil && first.problem?.code == code)
        _ = try await notes.refresh("all")
        let before = try scene.rows()
        await scene.service.create("new")
        scene.clock.advance(by: .seconds(10))
        await scene.service.fail(fault)
        let snapshot = try await notes.refresh("all")
        #expect(snapshot.rows.map(\.id) == ["n8", "n7", "n6"])
        #expect(snapshot.problem?.code == code)
        #expect(snapshot.source == .disk)
        #expect(snapshot.asOf == scene.clock.now.addingTimeInterval(-10))
        await scene.service.fail(fault)
        await expectAccountError(code) { _ = try await notes.loadMore(of: "all") }
        // For a single item, 404 means that it is gone.
        if fault != .status(404) {
            await scene.service.fail(fault)
            await expectAccountError(code) { try await notes.refreshItem("n8") }
        }
        #expect(try scene.rows().filter { !$0.hasPrefix("detail") } == before)
        #expect(try await notes.refresh("all").rows.map(\.id) == ["n9", "n8", "n7", "n6"])
    }

    @Test func `Reports an unknown date of a list after the clock was set back`() async throws {
        let scene = try await scene()
        let notes = try await scene.open()
        _ = try await notes.refresh("all")
        scene.clock.advance(by: .seconds(-31_536_000))
        #expect(try await notes.snapshot(of: "all").asOf == nil)
        #expect(try await notes.storedLists().map(\.asOf) == [nil])
        #expect(try await notes.refresh("all").asOf == scene.clock.now)
    }

    // MARK: Unusual items

    @Test func `Accepts any characters in an item id, and duplicates in a page`() async throws {
        let scene = try await OfflineScene()
        let ids = ["a\0b", "a", "", "../x", "🐻"]
        for id in ids.reversed() { await scene.service.create("text of \(id)", id: id) }
        let notes = try await scene.open()
        _ = try await notes.refresh("all")
        try await notes.loadAll()
        #expect(try await notes.ids() == ids)
        #expect(try await notes.snapshot(of: "all").rows.map(\.item.text) == ids.map { "text of \($0)" })
        let twice = #"{"id":"x","text":"","version":1,"isStarred":false}"#
        // The same page again confirms the end of the list.
        let page = NoteService.Fault.status(200, body: "[\(twice),\(twice)]")
        await scene.service.fail(page, page)
        _ = try await notes.refresh("all")
        #expect(try await notes.ids() == ["x"])
    }

    @Test func `Shows unsent changes in lists, and fully removes withdrawn changes`() async throws {
        let scene = try await scene(3)
        let notes = try await scene.open()
        _ = try await notes.refresh("all")
        _ = try await notes.refresh("starred")
        let before = try scene.rows()
        let made = try #require(try await notes.add(.create("made")))
        try await notes.add(.update("n3", "edited"))
        try await notes.add(Change(.delete, of: "n2"))
        try await notes.add(Change(.star, of: "n1"))
        let rows = try await notes.snapshot(of: "all").rows
        #expect(rows.map(\.id) == [made.object, "n3", "n1"])
        #expect(rows.map(\.item.text) == ["made", "edited", "text 1"])
        #expect(rows.map(\.isPending) == [true, true, true])
        #expect(try await notes.ids("starred") == ["n1"])
        #expect(try await notes.item("n2") == nil)
        #expect(try await notes.item(made.object)?.text == "made")
        for change in try await notes.pendingChanges() { #expect(try await notes.discard(change.id)) }
        #expect(try await notes.snapshot(of: "all").rows.map(\.item.text) == ["text 3", "text 2", "text 1"])
        #expect(try scene.rows() == before)
    }
}

extension OfflineScene {
    /// All rows of the lists' tables without the date columns, for comparison.
    fileprivate func rows(of tables: [String] = ["item", "list", "entry", "detail"]) throws -> [String] {
        try withDatabase("Lists.sqlite") { database in
            try tables.flatMap { table in
                try Row.fetchAll(database, sql: "SELECT rowid AS number, * FROM \(table) ORDER BY rowid").map { row in
                    let values = row.filter { $0.0 != "as_of" }.map {
                        "\($0.0)=\($0.1.storage.value.map { "\(($0 as? Data)?.base64EncodedString() ?? "\($0)")" } ?? "")"
                    }
                    return table + ": " + values.joined(separator: " ")
                }
            }
        }
    }
}
#endif
