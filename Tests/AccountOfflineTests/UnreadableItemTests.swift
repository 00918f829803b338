#if Offline
import AccountKit
import AccountTesting
import Foundation
import Testing

@testable import AccountOffline

/// An item that the app cannot read does not hide the others, online or offline.
struct UnreadableItemTests {
    private static func note(_ id: String) -> String {
        #"{"id":"\#(id)","isStarred":false,"text":"\#(id)","version":1}"#
    }

    /// Items that are not notes, with their IDs.
    @Test(
        arguments: [
            (#"{"id":"odd"}"#, ["odd"]), (#"{"id":"odd","text":null,"version":1,"isStarred":false}"#, ["odd"]),
            (#"{"id":"odd","text":"x","version":"1","isStarred":false}"#, ["odd"]), ("null", []), ("7", []), ("{}", []),
            (#"{"id":null}"#, []), ("[]", []),
        ] as [(String, [String])])
    func `Shows the other items of a list, and reports the unreadable one`(odd: String, ids: [String]) async throws {
        let scene = try await OfflineScene()
        let notes = try await scene.open()
        let body = "[\(Self.note("a")),\(odd),\(Self.note("b"))]"
        await scene.service.fail(.status(200, body: body))
        let online = try await notes.refresh("all")
        #expect(online.problem == nil)
        for snapshot in [online, try await scene.open().snapshot(of: "all")] {
            #expect(snapshot.rows.map(\.id) == ["a", "b"])
            #expect(snapshot.unreadableIDs == ids)
            #expect(snapshot.hasUnidentifiedItems == ids.isEmpty)
        }
        #expect(try await notes.item("b")?.text == "b")
        // A later response without such an item ends the report.
        await scene.service.fail(.status(200, body: "[\(Self.note("a")),\(Self.note("b"))]"))
        let after = try await notes.refresh("all")
        #expect(after.unreadableIDs.isEmpty && !after.hasUnidentifiedItems)
    }

    @Test func `Fills a page of a list in spite of unreadable items`() async throws {
        let scene = try await OfflineScene()
        let notes = try await scene.open()
        let items = (1...9).map { $0.isMultiple(of: 3) ? #"{"id":"\#($0)"}"# : Self.note("\($0)") }
        await scene.service.fail(.status(200, body: "[\(items.joined(separator: ","))]"))
        _ = try await notes.refresh("all")
        #expect(try await notes.snapshot(of: "all", limit: 4).rows.map(\.id) == ["1", "2", "4", "5"])
        #expect(try await notes.snapshot(of: "all", after: "5", limit: 4).rows.map(\.id) == ["7", "8"])
    }

    @Test func `Reports an unreadable item by itself with the place of the problem`() async throws {
        let scene = try await OfflineScene()
        let notes = try await scene.open()
        await scene.service.fail(.status(200, body: #"[{"id":"odd","text":"x","version":"1","isStarred":false}]"#))
        _ = try await notes.refresh("all")
        let error = await expectAccountError(.requestRefused) { _ = try await notes.item("odd") }
        #expect(error?.message.contains("version") == true)
        // An unsent change of the item does not hide the others either.
        try await notes.add(.update("odd", "edited"))
        try await notes.add(.create("made"))
        let snapshot = try await notes.snapshot(of: "all")
        #expect(snapshot.rows.map(\.item.text) == ["made"])
        #expect(snapshot.unreadableIDs == ["odd"])
    }

    @Test func `Sends the other changes past an item that cannot be decoded`() async throws {
        let scene = try await OfflineScene()
        let odd = await scene.service.create("old")
        let other = await scene.service.create("old")
        let notes = try await scene.open()
        await scene.service.fail(
            .status(200, body: #"[{"id":"\#(odd)","text":"x","version":"1","isStarred":false},\#(Self.note(other))]"#))
        _ = try await notes.refresh("all")
        try await notes.add(Change(.star, of: odd))
        try await notes.add(Change(.star, of: other))
        let report = try await notes.synchronize()
        #expect(report.sentCount == 2 && report.pending.isEmpty)
        #expect(report.problem?.message.contains(odd) == true)
        #expect(report.problem?.message.contains("DecodingError") == false)
        #expect(await scene.service.notes.allSatisfy(\.isStarred))
        #expect(try await notes.item(other)?.isStarred == true)
    }

    @Test func `Removes no item because of a response with an unidentified item`() async throws {
        let scene = try await OfflineScene()
        for number in 1...3 { await scene.service.create("text \(number)") }
        await scene.service.star("n2")
        let notes = try await scene.open()
        _ = try await notes.refresh("starred")
        _ = try await notes.refresh("all")
        let body = #"[{"id":"n3","isStarred":false,"text":"text 3","version":3},{"text":"text 2"}]"#
        await scene.service.fail(.status(200, body: body))
        #expect(try await notes.refresh("all").hasUnidentifiedItems)
        #expect(try await notes.ids("starred") == ["n2"])
    }

    @Test func `Keeps the stored list if a response has no readable item`() async throws {
        let scene = try await OfflineScene()
        for number in 1...3 { await scene.service.create("text \(number)") }
        let notes = try await scene.open()
        _ = try await notes.refresh("all")
        await scene.service.fail(.status(200, body: "[null,{}]"))
        let snapshot = try await notes.refresh("all")
        #expect(snapshot.problem?.code == .requestRefused)
        #expect(snapshot.rows.count == 3)
    }
}
#endif
