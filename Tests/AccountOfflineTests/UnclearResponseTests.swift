#if Offline
import AccountKit
import AccountTesting
import Foundation
import GRDB
import HTTPTypes
import Synchronization
import Testing

@testable import AccountOffline

/// Responses that do not come from the service, that cannot be read, or that do not arrive: no change is lost or sent
/// twice, and each change delays only later changes of its item.
struct UnclearResponseTests {
    private func scene() async throws -> OfflineScene { try await OfflineScene() }

    private func change(_ kind: ChangeKind, of id: String) -> Change {
        switch kind {
        case .create: .create("new")
        case .update: .update(id, "new")
        default: Change(kind, of: id)
        }
    }

    // MARK: Only the service decides

    /// Responses of captive portals and proxies.
    private static let foreign: [NoteService.Fault] = [
        .portal, .proxy, .status(200, body: ""), .status(200, body: "OK"), .status(404, body: ""),
        .status(410, body: "<html>gone</html>"), .status(403, body: "<html>blocked</html>"), .status(302, body: ""),
        .status(204, body: "<html>"),
    ]

    @Test(arguments: [ChangeKind.create, .update, .delete, .star, .unstar], foreign)
    func `Keeps a change and its item if another server responds`(
        kind: ChangeKind, fault: NoteService.Fault
    ) async throws {
        let scene = try await scene()
        let id = await scene.service.create("old")
        if kind == .unstar { await scene.service.star(id) }
        let notes = try await scene.open()
        _ = try await notes.refresh("all")
        try await notes.add(change(kind, of: id))
        await scene.service.fail { $0.method == .get ? nil : fault }
        let report = try await notes.synchronize()
        #expect(report.sentCount == 0)
        #expect(report.pending.map(\.state) == [.unknown])
        #expect(report.pending.first?.lastProblem?.hasPrefix("another server responded") == true)
        #expect(report.problem?.code == .serviceUnavailable)
        #expect(await scene.service.applied.isEmpty)
        #expect(try await notes.lists.item(id) != nil)
        await scene.service.fail(when: nil)
        scene.clock.advance(by: .seconds(60))
        #expect(try await notes.synchronize().sentCount == 1)
        #expect(await scene.service.applied.values.map { $0 } == [1])
        #expect(try await notes.unsentWork() == nil)
    }

    @Test(arguments: foreign)
    func `Keeps an unsent deletion if another server responds to its check`(fault: NoteService.Fault) async throws {
        let scene = try await scene()
        let id = await scene.service.create("old")
        let notes = try await scene.open()
        _ = try await notes.refresh("all")
        try await notes.add(Change(.delete, of: id))
        await scene.service.fail { _ in fault }
        #expect(try await notes.synchronize().problem?.code == .serviceUnavailable)
        #expect(try await notes.states == [.queued])
        await #expect(throws: AccountError.self) { try await notes.refreshItem(id) }
        #expect(try await notes.lists.item(id) != nil)
        #expect(await scene.service.count == 1)
        await scene.service.fail(when: nil)
        #expect(try await notes.synchronize(ignoringBackOff: true).sentCount == 1)
        #expect(await scene.service.count == 0)
    }

    @Test(arguments: [ChangeKind.update, .delete, .star, .unstar], [404, 410])
    func `Refuses a change if the service hides an existing item`(kind: ChangeKind, status: Int) async throws {
        let scene = try await scene()
        let id = await scene.service.create("old")
        let notes = try await scene.open(Notes(looks: false))
        _ = try await notes.refresh("all")
        try await notes.add(change(kind, of: id))
        await scene.service.fail { $0.method == .get ? nil : .status(status) }
        let report = try await notes.synchronize()
        #expect(report.pending.map(\.state) == [.refused])
        #expect(report.pending.first?.lastProblem?.contains("permission") == true)
        #expect(try await notes.lists.item(id) != nil)
    }

    @Test(
        arguments: [
            (ChangeKind.delete, []), (.update, [ChangeState.conflict]), (.star, [.conflict]), (.unstar, [.conflict]),
        ] as [(ChangeKind, [ChangeState])])
    func `Believes the service that an item is gone after a check`(
        kind: ChangeKind, states: [ChangeState]
    ) async throws {
        let scene = try await scene()
        let id = await scene.service.create("old")
        let notes = try await scene.open(Notes(looks: false))
        _ = try await notes.refresh("all")
        await scene.service.delete(id)
        try await notes.add(change(kind, of: id))
        // A proxy responds to the check first.
        await scene.service.fail { $0.method == .get ? .proxy : nil }
        #expect(try await notes.synchronize().sentCount == 0)
        #expect(try await notes.states.allSatisfy { !$0.needsDecision })
        await scene.service.fail(when: nil)
        _ = try await notes.synchronize(ignoringBackOff: true)
        #expect(try await notes.states == states)
        #expect(try await scene.open().pendingChanges().map(\.isItemGone) == states.map { _ in true })
    }

    @Test(arguments: [true, false])
    func `Marks a change of an item that was deleted, not another conflict`(isDeleted: Bool) async throws {
        let scene = try await scene()
        let id = await scene.service.create("old")
        let notes = try await scene.open()
        let change = try #require(try await notes.add(.update(id, "new")))
        if isDeleted { await scene.service.delete(id) }
        await scene.service.fail { $0.method == .patch ? .status(409) : nil }
        #expect(try await notes.synchronize().pending.map(\.isItemGone) == [isDeleted])
        #expect(try await notes.states == [.conflict])
        #expect(try await notes.keep(change.id))
        #expect(try await notes.pendingChanges().map(\.isItemGone) == [false])
    }

    @Test(arguments: [ChangeKind.update, .delete, .star], [409, 412])
    func `Looks whether the item exists before a conflict counts`(kind: ChangeKind, status: Int) async throws {
        let scene = try await scene()
        for number in 1...2 { await scene.service.create("old \(number)") }
        let notes = try await scene.open(Notes(looks: false))
        _ = try await notes.refresh("all")
        await scene.service.delete("n1")
        for id in ["n1", "n2"] { try await notes.add(change(kind, of: id)) }
        await scene.service.fail { $0.method == .get ? nil : .status(status) }
        let report = try await notes.synchronize()
        let isDeletion = kind == .delete
        #expect(report.sentCount == (isDeletion ? 1 : 0))
        #expect(report.pending.map(\.change.object) == (isDeletion ? ["n2"] : ["n1", "n2"]))
        #expect(report.pending.allSatisfy { $0.state == .conflict })
        #expect(report.pending.map(\.isItemGone) == (isDeletion ? [false] : [true, false]))
        #expect(try await notes.lists.item("n1") == nil || !isDeletion)
        #expect(try await notes.lists.item("n2") != nil)
    }

    @Test(arguments: [true, false], [409, 412])
    func `Looks for the created item before a conflict counts`(isApplied: Bool, status: Int) async throws {
        let scene = try await scene()
        let notes = try await scene.open()
        try await notes.add(.create("new"))
        await scene.service.fail { $0.method == .post ? isApplied ? .applied(status) : .status(status) : nil }
        let report = try await notes.synchronize()
        #expect(report.sentCount == (isApplied ? 1 : 0))
        #expect(report.pending.map(\.state) == (isApplied ? [] : [.conflict]))
        #expect(await scene.service.count == (isApplied ? 1 : 0))
    }

    /// The service creates the items while the next synchronization waits. The clock may have been set since the attempt, and
    /// the process may have ended during it.
    @Test(arguments: [-7200, 0, 7200], [ChangeState.sending, .unknown])
    func `Creates one item if the service creates it late`(clockChange: Int, state: ChangeState) async throws {
        let scene = try await scene()
        let notes = try await scene.open(Notes(searchDelay: .seconds(30)))
        for text in ["new", "newer"] { try await notes.add(.create(text)) }
        await scene.service.fail(when: { $0.method == .post ? .late : nil })
        #expect(try await notes.synchronize().pending.map(\.state) == [.unknown, .unknown])
        await scene.service.fail(when: nil)
        for entry in try await notes.outbox.pending() {
            var pending = entry.pending
            pending.state = state
            _ = try #require(try await notes.outbox.replace(entry, with: pending))
        }
        scene.clock.advance(by: .seconds(clockChange))
        let before = scene.clock.now
        #expect(try await notes.synchronize(ignoringBackOff: true).sentCount == 2)
        #expect(scene.clock.now.timeIntervalSince(before) == 30, "it waits once")
        #expect(await scene.service.applied == ["POST new": 1, "POST newer": 1])
    }

    @Test func `Stores a created item with all its data`() async throws {
        let scene = try await scene()
        // The service shortens the note in the response.
        var whole = Notes()
        whole.complete = { item, _ in
            item.json = Data(String(decoding: item.json, as: UTF8.self).replacing("begin", with: "whole").utf8)
        }
        let notes = try await scene.open(whole)
        try await notes.add(.create("begin"))
        #expect(try await notes.synchronize().sentCount == 1)
        #expect(try await notes.storedItem("n1")?.item.text == "whole")
        // A rest that is not available does not undo the change.
        struct Unavailable: Error {}
        whole.complete = { _, _ in throw Unavailable() }
        let other = try await scene.open(whole)
        try await other.add(.create("beginning"))
        #expect(try await other.synchronize().sentCount == 1)
        #expect(try await other.storedItem("n2")?.item.text == "beginning")
    }

    // MARK: Only changes of the same item wait

    @Test(
        arguments: [
            (NoteService.Fault.lost, ChangeState.unknown), (.portal, .unknown), (.proxy, .unknown),
            (.status(500), .unknown), (.status(200, body: #"{"odd":true}"#), .unknown), (.tooLong, .unknown),
            (.malformed, .refused), (.status(422), .refused), (.status(409), .conflict),
        ])
    func `Sends the changes of other items past a change that fails`(
        fault: NoteService.Fault, state: ChangeState
    ) async throws {
        let scene = try await scene()
        for number in 1...3 { await scene.service.create("old \(number)") }
        let notes = try await scene.open()
        let first = try #require(try await notes.add(.update("n1", "new 1")))
        try await notes.add(Change(.star, of: "n1"))
        try await notes.add(.update("n2", "new 2"))
        try await notes.add(.create("new"))
        try await notes.add(Change(.star, of: "n3"))
        await scene.service.fail { $0.method == .patch && $0.path == "/notes/n1" ? fault : nil }
        let report = try await notes.synchronize()
        #expect(report.sentCount == 3)
        #expect(report.problem == nil)
        #expect(report.pending.map(\.change.kind) == [.update, .star])
        #expect(report.pending.map(\.state) == [state, .queued])
        #expect(report.pending.first?.lastProblem?.isEmpty == false)
        await scene.service.fail(when: nil)
        scene.clock.advance(by: .seconds(60))
        if state.needsDecision { #expect(try await notes.keep(first.id)) }
        #expect(try await notes.synchronize().sentCount == 2)
        #expect(await scene.service.applied.count == 5)
        #expect(await scene.service.applied.values.allSatisfy { $0 == 1 })
    }

    @Test(arguments: [NoteService.Fault.tooLong, .lost, .malformed, .portal, .status(200, body: #"{"odd":true}"#)])
    func `Sends the changes of other items past an item that cannot be read`(fault: NoteService.Fault) async throws {
        let scene = try await scene()
        for number in 1...2 { await scene.service.create("old \(number)") }
        let notes = try await scene.open()
        try await notes.add(.update("n1", "new 1"))
        try await notes.add(.update("n2", "new 2"))
        await scene.service.fail { $0.method == .get && $0.path == "/notes/n1" ? fault : nil }
        let report = try await notes.synchronize()
        #expect(report.sentCount == 1)
        #expect(report.pending.map(\.change.object) == ["n1"])
        #expect(report.pending.map(\.state) == [fault == .malformed ? .refused : .queued])
        #expect(await scene.service.notes.map(\.text).contains("old 1"))
    }

    /// The requests of some items fail, as if the service cannot process their content.
    @Test(arguments: [NoteService.Fault.lost, .portal, .proxy, .status(500)], [true, false])
    func `Sends changes past all that fail while the service responds`(
        fault: NoteService.Fault, looks: Bool
    ) async throws {
        let scene = try await scene()
        for number in 1...6 { await scene.service.create("old \(number)") }
        let notes = try await scene.open(Notes(looks: looks))
        for number in 1...6 { try await notes.add(.update("n\(number)", "new")) }
        await scene.service.fail { $0.method == .patch && !"/notes/n5/notes/n6".contains($0.path ?? "") ? fault : nil }
        let report = try await notes.synchronize()
        #expect(report.sentCount == 2)
        #expect(report.problem == nil)
        #expect(report.pending.map(\.change.object) == ["n1", "n2", "n3", "n4"])
        #expect(report.pending.allSatisfy { $0.state == .unknown && $0.lastProblem != nil })
        await scene.service.fail(when: nil)
        scene.clock.advance(by: .seconds(60))
        #expect(try await notes.synchronize().sentCount == 4)
        #expect(await scene.service.notes.allSatisfy { $0.text == "new" })
        if looks { #expect(await scene.service.applied.values.allSatisfy { $0 == 1 }) }
    }

    @Test(arguments: [HTTPRequest.Method.get, .patch])
    func `Believes no response that contains another item`(method: HTTPRequest.Method) async throws {
        let scene = try await scene()
        for number in 1...2 { await scene.service.create("old \(number)") }
        let notes = try await scene.open()
        try await notes.add(.update("n1", "new"))
        try await notes.add(Change(.star, of: "n1"))
        let other = try Notes.encoder.encode(ServiceNote(id: "n2", text: "new", version: 9))
        let response = NoteService.Fault.status(200, body: String(decoding: other, as: UTF8.self))
        await scene.service.fail { $0.method == method ? response : nil }
        let report = try await notes.synchronize()
        #expect(report.sentCount == 0)
        #expect(report.pending.map(\.change.object) == ["n1", "n1"])
        #expect(report.pending.map(\.state) == [method == .get ? .queued : .unknown, .queued])
        await scene.service.fail(when: nil)
        scene.clock.advance(by: .seconds(60))
        #expect(try await notes.synchronize().sentCount == 2)
        #expect(await scene.service.applied == ["PATCH n1 new": 1, "PUT n1 star": 1])
    }

    @Test func `Stops after three requests without a response from the service`() async throws {
        let scene = try await scene()
        let notes = try await scene.open()
        for number in 1...5 { try await notes.add(.create("\(number)")) }
        await scene.service.fail { _ in .lost }
        let report = try await notes.synchronize()
        #expect(report.problem?.code == .serviceUnavailable)
        #expect(report.pending.map(\.state) == [.unknown, .unknown, .unknown, .queued, .queued])
        await scene.service.fail(when: nil)
        scene.clock.advance(by: .seconds(60))
        #expect(try await notes.synchronize().sentCount == 5)
        #expect(await scene.service.applied == ["POST 1": 1, "POST 2": 1, "POST 3": 1, "POST 4": 1, "POST 5": 1])
    }

    @Test func `Stops after the first request that cannot be sent`() async throws {
        let scene = try await scene()
        let notes = try await scene.open()
        for number in 1...3 { try await notes.add(.create("\(number)")) }
        await scene.service.fail { _ in .refused }
        #expect(try await notes.synchronize().problem?.code == .serviceUnavailable)
        #expect(await scene.service.requests.count == 1)
        #expect(try await notes.states == [.queued, .queued, .queued])
    }

    @Test func `Sends other changes before those whose check has failed`() async throws {
        let scene = try await scene()
        for number in 1...5 { await scene.service.create("old \(number)") }
        let notes = try await scene.open()
        for number in 1...5 { try await notes.add(.update("n\(number)", "new")) }
        await scene.service.fail { $0.path == "/notes/n5" ? nil : .proxy }
        #expect(try await notes.synchronize().sentCount == 0)
        let report = try await notes.synchronize(ignoringBackOff: true)
        #expect(report.sentCount == 1)
        #expect(report.pending.map(\.change.object) == ["n1", "n2", "n3", "n4"], "they keep their places")
        #expect(await scene.service.applied == ["PATCH n5 new": 1])
    }

    @Test func `Tries each failed change in turn`() async throws {
        let scene = try await scene()
        for number in 1...8 { await scene.service.create("old \(number)") }
        let notes = try await scene.open()
        for number in 1...8 { try await notes.add(.update("n\(number)", "new")) }
        await scene.service.fail { _ in .proxy }
        for _ in 1...3 {
            scene.clock.advance(by: .seconds(10))
            #expect(try await notes.synchronize(ignoringBackOff: true).sentCount == 0)
        }
        // Only the last item can be sent now.
        await scene.service.fail { $0.path == "/notes/n8" ? nil : .proxy }
        var sentCount = 0
        for _ in 1...4 {
            scene.clock.advance(by: .seconds(10))
            sentCount += try await notes.synchronize(ignoringBackOff: true).sentCount
        }
        #expect(sentCount == 1)
        #expect(try await notes.pendingChanges().map(\.change.object) == (1...7).map { "n\($0)" })
    }

    // MARK: Clocks

    /// The seconds by which this machine's clock is ahead of the clock of the service.
    @Test(arguments: [-300_000, -3600, 0, 3600, 300_000], [true, false])
    func `Finds its own item with any clock, and no older item`(ahead: Int, isApplied: Bool) async throws {
        let scene = try await scene()
        let start = scene.clock.now
        await scene.service.setTime(start)
        await scene.service.create("same")
        await scene.service.create("other")
        await scene.service.setTime(start.addingTimeInterval(100))
        scene.clock.advance(by: .seconds(ahead))
        let notes = try await scene.open()
        try await notes.add(.update("n2", "new"))
        try await notes.add(.create("same"))
        await scene.service.fail { $0.method == .post ? isApplied ? .lost : .status(502) : nil }
        _ = try await notes.synchronize()
        let change = try #require(try await notes.pendingChanges().first?.change)
        #expect(change.sentAfter == start.addingTimeInterval(100))
        #expect(change.sentAt == scene.clock.now)
        // The clock is corrected before the next attempt.
        scene.clock.advance(by: .seconds(60 - ahead))
        await scene.service.setTime(start.addingTimeInterval(160))
        await scene.service.fail(when: nil)
        #expect(try await notes.synchronize(ignoringBackOff: true).sentCount == 1)
        #expect(await scene.service.notes.count { $0.text == "same" } == 2)
        #expect(await scene.service.applied["POST same"] == 1)
    }

    @Test(
        arguments: [
            ["Date": "Fri, 15 Jan 2027 10:00:00 GMT", "Retry-After": "Fri, 15 Jan 2027 10:01:30 GMT"],
            ["Date": "Thu, 14 Jan 2027 10:00:00 GMT", "Retry-After": "Thu, 14 Jan 2027 10:01:30 GMT"],
            ["Date": "Fri, 15 Jan 2027 10:00:00 GMT", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1800007290"],
            ["Date": "Thu, 14 Jan 2027 10:00:00 GMT", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1799920890"],
            ["Retry-After": "90"],
        ])
    func `Pauses until the service's clock shows the time it sent`(fields: [String: String]) async throws {
        let scene = try await scene()
        let notes = try await scene.open()
        try await notes.add(.create("new"))
        await scene.service.fail(.status(403, fields))
        #expect(try await notes.synchronize().problem?.message.contains("another 90 s") == true)
        scene.clock.advance(by: .seconds(89))
        #expect(try await notes.synchronize(ignoringBackOff: true).sentCount == 0)
        scene.clock.advance(by: .seconds(2))
        #expect(try await notes.synchronize(ignoringBackOff: true).sentCount == 1)
    }

    @Test(arguments: [-1, -3600, -90_000])
    func `Ends a pause if the clock was set back`(seconds: Int) async throws {
        let scene = try await scene()
        let notes = try await scene.open()
        try await notes.add(.create("new"))
        await scene.service.fail(.status(429, ["Retry-After": "7200"]))
        #expect(try await notes.synchronize().sentCount == 0)
        scene.clock.advance(by: .seconds(seconds))
        #expect(try await notes.synchronize(ignoringBackOff: true).sentCount == 1)
    }

    @Test(
        arguments: [
            NoteService.Fault.status(500), .status(503, ["Retry-After": "90"]), .status(408, ["Retry-After": "90"]),
            .status(429, ["Retry-After": "90"]), .refused, .portal,
        ], [-60, -3600, -90_000])
    func `Ends a back-off if the clock was set back`(fault: NoteService.Fault, seconds: Int) async throws {
        let scene = try await scene()
        let notes = try await scene.open()
        try await notes.add(.create("new"))
        await scene.service.fail { $0.method == .post ? fault : nil }
        #expect(try await notes.synchronize().sentCount == 0)
        #expect(try await notes.synchronize().sentCount == 0)
        await scene.service.fail(when: nil)
        scene.clock.advance(by: .seconds(seconds))
        #expect(try await notes.synchronize().sentCount == 1)
    }

    @Test(arguments: ["0", "-5", "Fri, 15 Jan 2027 09:00:00 GMT"])
    func `Sends nothing more if a limit is over, but still applies`(retryAfter: String) async throws {
        let scene = try await scene()
        let notes = try await scene.open()
        for number in 1...5 { try await notes.add(.create("\(number)")) }
        await scene.service.fail { _ in
            .status(429, ["Date": "Fri, 15 Jan 2027 10:00:00 GMT", "Retry-After": retryAfter])
        }
        #expect(try await notes.synchronize().sentCount == 0)
        #expect(await scene.service.requests.count == 1)
        await scene.service.fail(when: nil)
        scene.clock.advance(by: .seconds(2))
        #expect(try await notes.synchronize().sentCount == 5)
    }

    // MARK: Decryptions

    private func decryptions(of notes: OfflineCollection<Notes>) -> Int {
        notes.outbox.decryptionCount.load(ordering: .relaxed)
    }

    @Test(arguments: [false, true])
    func `Decrypts each waiting change once while sending`(areLost: Bool) async throws {
        let scene = try await scene()
        let notes = try await scene.open()
        for number in 1...100 { try await notes.add(.create("\(number)")) }
        #expect(decryptions(of: notes) == 0, "this process has made them")
        let other = try await scene.open()
        await scene.service.fail { _ in areLost ? .status(503) : nil }
        _ = try await other.synchronize()
        await scene.service.fail(when: nil)
        #expect(try await other.synchronize(ignoringBackOff: true).pending.isEmpty)
        #expect(decryptions(of: other) == 100)
        #expect(await scene.service.count == 100)
    }

    @Test func `Decrypts only the changes that another process has added`() async throws {
        let scene = try await scene()
        let notes = try await scene.open()
        for number in 1...20 { try await notes.add(.create("\(number)")) }
        let other = try await scene.open()
        #expect(try await other.pendingChanges().count == 20)
        #expect(try await other.pendingChanges().count == 20)
        #expect(decryptions(of: other) == 20)
        try await notes.add(.create("21"))
        #expect(try await other.pendingChanges().count == 21)
        #expect(try await other.add(.create("22")) != nil)
        #expect(decryptions(of: other) == 21)
        #expect(try await notes.pendingChanges().map(\.change) == other.pendingChanges().map(\.change))
    }

    @Test func `Reads changes again after a write that failed`() async throws {
        let scene = try await scene()
        let notes = try await scene.open()
        let kept = try #require(try await notes.add(.create("kept")))
        try scene.withDatabase("Outbox.sqlite") {
            try $0.execute(
                sql: "CREATE TRIGGER full BEFORE UPDATE ON change BEGIN SELECT RAISE(ROLLBACK, 'full'); END")
        }
        await #expect(throws: AccountError.self) { try await notes.add(.create("lost")) }
        #expect(try await notes.pendingChanges().map(\.change.id) == [kept.id])
        try scene.withDatabase("Outbox.sqlite") { try $0.execute(sql: "DROP TRIGGER full") }
        #expect(try await notes.synchronize().sentCount == 1)
    }

    @Test func `Notices a change that another process has discarded or sent`() async throws {
        let scene = try await scene()
        let (one, two) = (try await scene.open(), try await scene.open())
        let first = try #require(try await one.add(.create("first")))
        try await one.add(.create("second"))
        #expect(try await two.pendingChanges().count == 2)
        #expect(try await one.discard(first.id))
        #expect(try await two.pendingChanges().count == 1)
        #expect(try await one.synchronize().sentCount == 1)
        #expect(try await two.synchronize().sentCount == 0)
        #expect(await scene.service.notes.map(\.text) == ["second"])
    }
}
#endif
