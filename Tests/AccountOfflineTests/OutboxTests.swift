#if Offline
import AccountKit
import AccountTesting
import Foundation
import GRDB
import HTTPTypes
import AccountCrypto
import Testing

@testable import AccountOffline

/// Changes that are sent later: order, merging, states and decisions of the user. ``OutboxRandomTests`` checks that each
/// change is made once, whatever messages are lost.
struct OutboxTests {
    private func scene() async throws -> OfflineScene { try await OfflineScene() }

    /// Leaves the first change in the state of a process that died while sending it.
    private func noteAsBeingSent(_ notes: OfflineCollection<Notes>) async throws {
        let entry = try #require(try await notes.outbox.pending().first)
        var pending = entry.pending
        pending.state = .sending
        _ = try #require(try await notes.outbox.replace(entry, with: pending))
    }

    /// Leaves the first change in the state of a process that died before it added the change's item to the lists.
    private func noteAsCreated(_ notes: OfflineCollection<Notes>, _ item: RemoteItem) async throws {
        let entry = try #require(try await notes.outbox.pending().first)
        _ = try #require(try await notes.outbox.replace(entry, with: entry.pending, made: item))
    }

    // MARK: In order, and once

    @Test func `Keeps changes in order across processes and sends each change once`() async throws {
        let scene = try await scene()
        let first = await scene.service.create("old")
        let notes = try await scene.open()
        for number in 1...3 { try await notes.add(.create("new \(number)")) }
        try await notes.add(.update(first, "edited"))
        try await notes.add(Change(.star, of: first))
        let other = try await scene.open()
        #expect(try await other.pendingChanges().map(\.change.kind) == [.create, .create, .create, .update, .star])
        #expect(try await other.unsentWork() == "5 unsent changes")
        let report = try await other.synchronize()
        #expect(report.sentCount == 5)
        #expect(report.problem == nil && report.pending.isEmpty)
        #expect(try await notes.unsentWork() == nil)
        #expect(await scene.service.notes.map(\.text) == ["edited", "new 3", "new 2", "new 1"])
        #expect(try await notes.synchronize().sentCount == 0)
        #expect(await scene.service.applied.values.allSatisfy { $0 == 1 })
    }

    @Test func `Waits for the disk at commits to the outbox, but not to lists`() async throws {
        let notes = try await scene().open()
        let isFull = try await notes.outbox.durability()
        let isNormal = try await notes.lists.durability()
        #expect(isFull.synchronous == 2 && isFull.journal == "wal")
        #expect(isNormal.synchronous == 1 && isNormal.journal == "wal")
    }

    @Test(arguments: [true, false])
    func `Accepts changes again after the disk has become writable`(isNew: Bool) async throws {
        let scene = try await scene()
        try await scene.open().add(.create("first"))
        let outbox = try scene.file(OutboxDatabase.name)
        let folder = outbox.dropLast(OutboxDatabase.name.count + 1)
        let lock = folder + "/" + FileArchiveStorage.lockName
        if isNew { try FileManager.default.removeItem(atPath: String(folder)) }
        // A folder in place of the lock file prevents writing like a full disk does.
        try? FileManager.default.removeItem(atPath: lock)
        for path in [String(folder), lock] {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
        let notes = try await scene.open()
        #expect(try await notes.pendingChanges().count == (isNew ? 0 : 1))
        let error = await #expect(throws: AccountError.self) { try await notes.add(.create("second")) }
        #expect(error?.code == .inaccessible)
        try FileManager.default.removeItem(atPath: lock)
        try await notes.add(.create("second"))
        #expect(try await notes.pendingChanges().count == (isNew ? 1 : 2))
        #expect(try await scene.open().pendingChanges().count == (isNew ? 1 : 2))
    }

    @Test func `Merges unsent edits, and drops an item that was created and deleted`() async throws {
        let scene = try await scene()
        let notes = try await scene.open()
        let id = await scene.service.create("old")
        let made = try #require(try await notes.add(.create("a")))
        try await notes.add(.update(made.object, "b"))
        try await notes.add(.update(id, "x"))
        try await notes.add(.update(id, "y"))
        #expect(try await notes.pendingChanges().map(\.change.kind) == [.create, .update])
        #expect(try await notes.add(Change(.delete, of: made.object)) == nil)
        #expect(try await notes.synchronize().sentCount == 1)
        #expect(await scene.service.applied == ["PATCH n1 y": 1])
    }

    @Test func `Merges edits after an attempt to send that did not reach the service`() async throws {
        let scene = try await scene()
        let notes = try await scene.open()
        let made = try #require(try await notes.add(.create("a")))
        await scene.service.fail(.refused)
        #expect(try await notes.synchronize().problem?.code == .serviceUnavailable)
        try await notes.add(.update(made.object, "b"))
        #expect(try await notes.pendingChanges().map(\.change.sentAt) == [nil])
        #expect(try await notes.add(Change(.delete, of: made.object)) == nil)
        #expect(try await notes.unsentWork() == nil)
    }

    @Test func `Keeps an edit that the user makes just before its change is sent`() async throws {
        let scene = try await scene()
        let id = await scene.service.create("old")
        let notes = try await scene.open()
        let other = try await scene.open()
        try await notes.add(.update(id, "first"))
        // The user continues to edit while the adapter queries the service.
        await scene.service.beforeResponse { request in
            if request.method == .get, await scene.service.applied.isEmpty,
                try await other.pendingChanges().allSatisfy({
                    String(decoding: $0.change.body, as: UTF8.self).contains("first")
                })
            {
                try await other.add(.update(id, "second"))
            }
        }
        #expect(try await notes.synchronize().sentCount == 1)
        #expect(await scene.service.notes.map(\.text) == ["second"])
    }

    /// The versions of two changes, and of their combination.
    @Test(
        arguments: [
            (ChangeKind.star, nil, ChangeKind.delete, "2", "2"), (.update, "1", .delete, "2", "1"),
            (.update, "1", .update, "2", "1"), (.update, nil, .update, "2", nil), (.star, nil, .star, nil, nil),
        ] as [(ChangeKind, String?, ChangeKind, String?, String?)])
    func `Keeps the version of the item in combined changes`(
        first: ChangeKind, base: String?, second: ChangeKind, later: String?, expected: String?
    ) async throws {
        let notes = try await scene().open()
        _ = try await notes.outbox.add(Change(first, of: "n1", base: base)) { [$0, $1] }
        let change = try await notes.outbox.add(Change(second, of: "n1", base: later)) { [$1] }
        #expect(change?.base == expected)
        #expect(try await notes.pendingChanges().map(\.change.base) == [expected])
    }

    @Test func `Counts an item as its change's before the change is removed`() async throws {
        let notes = try await scene().open()
        try await notes.add(.create("new"))
        let entry = try #require(try await notes.outbox.pending().first)
        #expect(try await notes.outbox.claimedIDs() == [])
        let made = RemoteItem(id: "n1", json: Data("{}".utf8))
        let noted = try #require(try await notes.outbox.replace(entry, with: entry.pending, made: made))
        #expect(try await notes.outbox.claimedIDs() == ["n1"])
        try await notes.outbox.remove(noted, made: "n1")
        #expect(try await notes.outbox.claimedIDs() == ["n1"])
    }

    /// A process died after it had found the item of a change whose response was lost, and before it updated the lists.
    @Test(arguments: [ChangeKind.update, .star, .delete])
    func `Lists a created item before it sends later changes of the item`(kind: ChangeKind) async throws {
        let scene = try await scene()
        await scene.service.create("old")
        let notes = try await scene.open()
        _ = try await notes.refresh("all")
        try await notes.add(.create("new"))
        await scene.service.fail(.lost)
        #expect(try await notes.synchronize().pending.map(\.state) == [.unknown])
        let created = try #require(await scene.service.notes.first)
        try await noteAsCreated(notes, RemoteItem(id: created.id, json: Notes.encoder.encode(created)))
        // The app knows the item by its ID at the service.
        let row = try #require(try await notes.snapshot(of: "all").rows.first)
        #expect(row.id == created.id && row.item.text == "new")
        try await notes.add(kind == .update ? .update(row.id, "edited") : Change(kind, of: row.id))
        let seen = try await notes.snapshot(of: "all").rows.map { "\($0.item.text) \($0.item.isStarred)" }
        #expect(try await notes.synchronize(ignoringBackOff: true).sentCount == 2)
        #expect(await scene.service.notes.map { "\($0.text) \($0.isStarred)" } == seen)
        #expect(try await notes.snapshot(of: "all").rows.map { "\($0.item.text) \($0.item.isStarred)" } == seen)
    }

    @Test func `Combines no change with one whose item the service has created`() async throws {
        let notes = try await scene().open()
        let made = try #require(try await notes.add(.create("new")))
        try await noteAsCreated(notes, RemoteItem(id: "n1", json: Data("{}".utf8)))
        try await notes.add(.update(made.object, "edited"))
        #expect(try await notes.pendingChanges().map(\.change.kind) == [.create, .update])
        #expect(try await notes.outbox.pending().map(\.made?.id) == ["n1", nil])
    }

    // MARK: Lost responses

    @Test func `Records an attempt before sending a change`() async throws {
        let scene = try await scene()
        let notes = try await scene.open()
        try await notes.add(.create("new"))
        let whileSending = try await scene.open()
        await scene.service.beforeResponse { request async throws in
            if request.method == .post { #expect(try await whileSending.states == [.sending]) }
        }
        #expect(try await notes.synchronize().sentCount == 1)
        // The state after a crash: the change does not count as never sent.
        try await notes.add(.create("another"))
        try await noteAsBeingSent(notes)
        await scene.service.create("another")
        #expect(try await notes.synchronize().sentCount == 1)
        #expect(await scene.service.notes.map(\.text) == ["another", "new"])
    }

    @Test func `Checks whether a change was made if its request was cancelled`() async throws {
        let scene = try await scene()
        let notes = try await scene.open()
        try await notes.add(.create("new"))
        await scene.service.beforeResponse { request in
            guard request.method == .post else { return }
            withUnsafeCurrentTask { $0?.cancel() }
            throw CancellationError()
        }
        let run = Task { try await notes.synchronize() }
        _ = await run.result
        #expect(try await notes.states == [.unknown])
        await scene.service.beforeResponse(nil)
        scene.clock.advance(by: .seconds(60))
        #expect(try await notes.synchronize().sentCount == 1)
        #expect(await scene.service.count == 1)
    }

    @Test func `Records a change as sent despite a cancellation after the response`() async throws {
        let scene = try await scene()
        let notes = try await scene.open()
        try await notes.add(.create("new"))
        try await notes.add(.create("next"))
        await scene.service.beforeResponse { request in
            if request.method == .post { withUnsafeCurrentTask { $0?.cancel() } }
        }
        let run = Task { try await notes.synchronize() }
        _ = await run.result
        #expect(try await notes.states == [.queued], "no other request was sent")
    }

    // MARK: Statuses

    @Test func `Retries a change after a server error, and respects a rate limit`() async throws {
        let scene = try await scene()
        let notes = try await scene.open()
        try await notes.add(.create("new"))
        await scene.service.fail(.status(500))
        var report = try await notes.synchronize()
        #expect(report.pending.map(\.state) == [.unknown])
        #expect(report.pending.first?.lastProblem == "500")
        scene.clock.advance(by: .seconds(5))
        await scene.service.fail(.status(503, ["Retry-After": "100"]))
        report = try await notes.synchronize()
        let limits: [NoteService.Fault] = [
            .status(429, ["Retry-After": "100"]), .status(403, ["Retry-After": "100"]),
            .status(
                403,
                [
                    "x-ratelimit-remaining": "0",
                    "x-ratelimit-reset": "\(Int(scene.clock.now.timeIntervalSince1970) + 10_000)",
                ]),
        ]
        #expect(report.problem?.code == .serviceUnavailable, "the service refused to return the item")
        scene.clock.advance(by: .seconds(200))
        for limit in limits {
            await scene.service.fail { $0.method == .post ? limit : nil }
            report = try await notes.synchronize(ignoringBackOff: true)
            #expect(report.problem?.message.contains("requested a pause") == true)
            let count = await scene.service.requests.count
            report = try await notes.synchronize(ignoringBackOff: true)
            #expect(report.problem?.code == .serviceUnavailable)
            #expect(await scene.service.requests.count == count, "nothing is sent during the pause")
            scene.clock.advance(by: .seconds(100))
        }
        scene.clock.advance(by: .seconds(10_000))
        await scene.service.fail(when: nil)
        #expect(try await notes.synchronize().sentCount == 1)
        #expect(await scene.service.count == 1)
    }

    @Test func `Sends changes that waited for a sign-in`() async throws {
        let scene = try await scene()
        let notes = try await scene.open()
        try await notes.add(.create("first"))
        try await notes.add(.create("second"))
        await scene.service.fail(.status(401))
        let report = try await notes.synchronize()
        #expect(report.problem?.code == .notSignedIn)
        #expect(report.pending.map(\.state) == [.waitingForSignIn, .queued])
        #expect(await scene.service.requests.count == 1, "the second request would fail too")
        #expect(try await notes.synchronize().sentCount == 2)
    }

    @Test func `Keeps a refused change for the user to resolve, and sends the others`() async throws {
        let scene = try await scene()
        let id = await scene.service.create("old")
        let notes = try await scene.open()
        let refused = try #require(try await notes.add(.create("bad")))
        try await notes.add(Change(.star, of: refused.object))
        try await notes.add(.update(id, "mine", base: "0"))
        try await notes.add(Change(ChangeKind(rawValue: "unheard of"), of: "n7"))
        try await notes.add(.create("good"))
        await scene.service.fail(.status(422, body: #"{"message":"too short"}"#))
        let report = try await notes.synchronize()
        #expect(report.sentCount == 1)
        #expect(report.problem == nil)
        #expect(report.pending.map(\.state) == [.refused, .queued, .conflict, .conflict])
        #expect(report.pending.first?.lastProblem == "422: too short")
        #expect(await scene.service.notes.map(\.text) == ["good", "old"])
        #expect(try await notes.synchronize(ignoringBackOff: true).sentCount == 0)

        let conflict = report.pending[2]
        #expect(try await notes.keep(conflict.id))
        #expect(try await notes.discard(refused.id), "its later changes are discarded too")
        #expect(try await notes.discard(report.pending[3].id))
        #expect(try await !notes.discard(UUID()))
        #expect(try await !notes.keep(refused.id))
        #expect(try await notes.synchronize().sentCount == 1)
        #expect(await scene.service.notes.map(\.text) == ["mine", "good"])
        #expect(try await notes.unsentWork() == nil)
    }

    @Test(arguments: [ChangeKind.create, .update])
    func `Sends a refused change again with the edit that corrects it`(kind: ChangeKind) async throws {
        let scene = try await scene()
        let id = await scene.service.create("old")
        let notes = try await scene.open()
        let refused = try #require(try await notes.add(kind == .create ? .create("bad") : .update(id, "bad")))
        await scene.service.fail { [.post, .patch].contains($0.method) ? .status(422) : nil }
        #expect(try await notes.synchronize().pending.map(\.state) == [.refused])
        let corrected = try #require(try await notes.add(.update(refused.object, "good")))
        #expect(corrected.kind == kind && corrected.id != refused.id && corrected.sentAt == nil)
        #expect(try await notes.states == [.queued])
        await scene.service.fail(when: nil)
        #expect(try await notes.synchronize().sentCount == 1)
        #expect(await scene.service.notes.first?.text == "good")
        #expect(await scene.service.applied.values.map { $0 } == [1])
    }

    @Test func `Gives a refused change that the user keeps a new ID`() async throws {
        let scene = try await scene()
        let notes = try await scene.open()
        let refused = try #require(try await notes.add(.create("new")))
        await scene.service.fail(.status(422))
        #expect(try await notes.synchronize().pending.map(\.state) == [.refused])
        #expect(try await notes.keep(refused.id))
        let kept = try #require(try await notes.pendingChanges().first)
        #expect(kept.state == .queued && kept.id != refused.id && kept.change.object == refused.object)
        #expect(kept.change.body == refused.body && kept.change.sentAt == nil)
        #expect(try await notes.synchronize().sentCount == 1)
        #expect(await scene.service.notes.map(\.text) == ["new"])
    }

    @Test func `Drops a refused item that the user deletes`() async throws {
        let scene = try await scene()
        let notes = try await scene.open()
        let refused = try #require(try await notes.add(.create("bad")))
        await scene.service.fail { _ in .status(422) }
        _ = try await notes.synchronize()
        #expect(try await notes.add(Change(.delete, of: refused.object)) == nil)
        #expect(try await notes.unsentWork() == nil)
    }

    @Test func `Asks the user to resolve a change whose result cannot be determined`() async throws {
        let scene = try await scene()
        let notes = try await scene.open(Notes(looks: false))
        try await notes.add(.create("new"))
        await scene.service.fail(.lost)
        _ = try await notes.synchronize()
        let change = try #require(try await notes.pendingChanges().first)
        scene.clock.advance(by: .seconds(60))
        #expect(try await notes.synchronize().sentCount == 0)
        #expect(try await notes.states == [.conflict])
        #expect(try await notes.keep(change.id))
        #expect(try await notes.synchronize().sentCount == 1)
        #expect(await scene.service.count == 2, "as the user chose")
    }

    /// The commands `resolve --mine` and `resolve --theirs`.
    @Test func `Drops any change, and sends again only a change that needs a decision`() async throws {
        let scene = try await scene()
        let id = await scene.service.create("old")
        let notes = try await scene.open()
        let change = try #require(try await notes.add(.update(id, "too long for a proxy")))
        await scene.service.fail { $0.method == .patch ? .proxy : nil }
        #expect(try await notes.synchronize().pending.map(\.state) == [.unknown])
        let error = await #expect(throws: AccountError.self) { try await notes.resolve(change.id, keepingMine: true) }
        #expect(error?.hint == "to drop it, use --theirs")
        let (isFound, problem) = try await notes.resolve(change.id, keepingMine: false)
        #expect(isFound && problem == nil)
        #expect(try await notes.pendingChanges().isEmpty)
        #expect(try await notes.item(id)?.text == "old")
    }

    /// The first attempt takes effect after the check of the second, which the service or the network only postpones.
    @Test(arguments: [NoteService.Fault.status(429, ["Retry-After": "1"]), .status(408), .status(401), .refused])
    func `Checks for a lost change again after a postponed attempt`(fault: NoteService.Fault) async throws {
        let scene = try await scene()
        let notes = try await scene.open()
        try await notes.add(.create("new"))
        await scene.service.fail { $0.method == .post ? .status(502) : nil }
        #expect(try await notes.synchronize().pending.map(\.state) == [.unknown])
        await scene.service.fail { $0.method == .post ? fault : nil }
        #expect(try await notes.synchronize(ignoringBackOff: true).pending.map(\.state) == [.unknown])
        await scene.service.create("new")
        await scene.service.fail(when: nil)
        scene.clock.advance(by: .seconds(60))
        #expect(try await notes.synchronize(ignoringBackOff: true).sentCount == 1)
        #expect(await scene.service.count == 1)
    }

    @Test func `Does not repeat a change that the user keeps after a lost response`() async throws {
        let scene = try await scene()
        let notes = try await scene.open()
        let change = try #require(try await notes.add(.create("new")))
        await scene.service.create("new")
        try await noteAsBeingSent(notes)
        #expect(try await notes.keep(change.id))
        #expect(try await notes.synchronize().sentCount == 1)
        #expect(await scene.service.count == 1)
    }

    @Test func `Sends each change once in two concurrent synchronizations`() async throws {
        let scene = try await scene()
        let (one, two) = (try await scene.open(), try await scene.open())
        for number in 1...20 { try await (number.isMultiple(of: 2) ? one : two).add(.create("\(number)")) }
        async let first = one.synchronize()
        async let second = two.synchronize()
        let count = try await first.sentCount + second.sentCount
        #expect(count == 20)
        #expect(await scene.service.notes.map(\.text).reversed() == (1...20).map { "\($0)" })
    }

    @Test func `Records a change as sent even if the lists cannot be written`() async throws {
        let scene = try await scene()
        let notes = try await scene.open()
        _ = try await notes.refresh("all")
        try await notes.add(.create("new"))
        try scene.withDatabase("Lists.sqlite") {
            try $0.execute(sql: "CREATE TRIGGER full BEFORE INSERT ON detail BEGIN SELECT RAISE(FAIL, 'full'); END")
        }
        await #expect(throws: AccountError.self) { try await notes.synchronize() }
        #expect(try await notes.unsentWork() == nil)
        #expect(await scene.service.count == 1)
    }
}

extension OutboxDatabase {
    func durability() async throws -> (synchronous: Int?, journal: String?) { try await database.durability() }
}

extension ListDatabase {
    func durability() async throws -> (synchronous: Int?, journal: String?) { try await database.durability() }
}

extension OfflineDatabase {
    fileprivate func durability() async throws -> (synchronous: Int?, journal: String?) {
        try await read {
            (try Int.fetchOne($0, sql: "PRAGMA synchronous"), try String.fetchOne($0, sql: "PRAGMA journal_mode"))
        }
    }
}
#endif
