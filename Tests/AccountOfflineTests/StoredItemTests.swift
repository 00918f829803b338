#if Offline
import AccountKit
import AccountTesting
import Foundation
import Synchronization
import Testing

@testable import AccountOffline

/// A stored item is complete and has its age, or the app learns that it is not.
struct StoredItemTests {
    private let remote = Notes(hasVersions: true)

    private func scene() async throws -> OfflineScene {
        let scene = try await OfflineScene()
        for number in 1...2 { await scene.service.create("text \(number)") }
        return scene
    }

    @Test func `Tells the time of the response that contained an item`() async throws {
        let scene = try await scene()
        let notes = try await scene.open(remote)
        #expect(try await notes.storedItem("n1") == nil)
        _ = try await notes.refresh("all")
        let listed = scene.clock.now
        scene.clock.advance(by: .seconds(60))
        #expect(try await notes.storedItem("n1")?.asOf == listed)
        try await notes.refreshItem("n1")
        let shown = scene.clock.now
        scene.clock.advance(by: .seconds(60))
        _ = try await notes.refresh("all")
        #expect(try await notes.storedItem("n1")?.asOf == shown)
        scene.clock.advance(by: .seconds(-31_536_000))
        #expect(try await notes.storedItem("n1")?.asOf == nil)
        let made = try #require(try await notes.add(.create("made")))
        #expect(try await notes.storedItem(made.object)?.asOf == nil)
    }

    /// What happens at the service and here, before and after an item is requested.
    enum Order: CaseIterable { case unchanged, changedBefore, changedAfter, changedAndShown, neverListed, neverShown }

    @Test(arguments: Order.allCases)
    func `Tells that a list has shown another version of an item`(order: Order) async throws {
        let scene = try await scene()
        let notes = try await scene.open(remote)
        if order != .neverListed { _ = try await notes.refresh("all") }
        if order == .changedBefore { await scene.service.edit("n1", "edited") }
        if order != .neverShown { try await notes.refreshItem("n1") }
        if order != .unchanged, order != .changedBefore { await scene.service.edit("n1", "edited") }
        // If the item changed before it was requested, the list still contains the version before that.
        if order != .changedBefore { _ = try await notes.refresh("all") }
        if order == .changedAndShown { try await notes.refreshItem("n1") }
        let stored = try #require(try await scene.open(remote).storedItem("n1"))
        #expect(stored.isOutdated == (order == .changedAfter || order == .neverListed))
        #expect(stored.item.text == (order == .unchanged || stored.isOutdated ? "text 1" : "edited"))
    }

    @Test func `Stores the completed item, and requests the rest again after a failure`() async throws {
        let scene = try await scene()
        var remote = remote
        remote.complete = { item, _ in
            var note = try JSONDecoder().decode(ServiceNote.self, from: item.json)
            note.text += " to the end"
            item.json = try Notes.encoder.encode(note)
        }
        let notes = try await scene.open(remote)
        try await notes.refreshItem("n1")
        #expect(try await notes.item("n1")?.text == "text 1 to the end")

        var broken = remote
        broken.complete = { _, _ in throw AccountError(.serviceUnavailable, "the rest is missing") }
        let offline = try await scene.open(broken)
        // The same version is stored completely.
        await expectAccountError(.serviceUnavailable) { try await offline.refreshItem("n1") }
        #expect(try await offline.item("n1")?.text == "text 1 to the end")
        // Of a new version, the beginning is better than nothing.
        await scene.service.edit("n1", "edited")
        await expectAccountError(.serviceUnavailable) { try await offline.refreshItem("n1") }
        #expect(try await offline.item("n1")?.text == "edited")
        try await notes.refreshItem("n1")
        #expect(try await notes.item("n1")?.text == "edited to the end")
    }

    @Test func `Stores no other item than the requested one`() async throws {
        let scene = try await scene()
        let notes = try await scene.open(remote)
        try await notes.refreshItem("n1")
        let other = #"{"id":"n2","text":"other","version":9,"isStarred":false}"#
        await scene.service.fail(.status(200, body: other))
        await expectAccountError(.requestRefused) { try await notes.refreshItem("n1") }
        #expect(try await notes.item("n1")?.text == "text 1")
        #expect(try await notes.storedItem("n2") == nil)
    }

    /// An item of several parts, one of which is not available.
    @Test func `Stores the available parts of an item, and passes the stored item on`() async throws {
        let scene = try await scene()
        let seen = Mutex<[String?]>([])
        var remote = remote
        remote.complete = { item, stored in
            seen.withLock { $0.append(stored.map { String(decoding: $0.json, as: UTF8.self) }) }
            var note = try JSONDecoder().decode(ServiceNote.self, from: item.json)
            note.text += " and one part"
            item.json = try Notes.encoder.encode(note)
            throw AccountError(.serviceUnavailable, "the other part is missing")
        }
        let notes = try await scene.open(remote)
        for _ in 1...2 {
            await expectAccountError(.serviceUnavailable) { try await notes.refreshItem("n1") }
            #expect(try await notes.item("n1")?.text == "text 1 and one part")
        }
        let stored = seen.withLock { $0 }
        #expect(stored.count == 2 && stored[0] == nil)
        #expect(stored[1]?.contains("and one part") == true)
    }
}
#endif
