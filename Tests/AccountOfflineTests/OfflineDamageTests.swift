#if Offline
import AccountKit
import AccountTesting
import Foundation
import GRDB
import HTTPTypes
import TestScene
import Testing

@testable import AccountOffline

/// Damaged files and files with another schema: lists are fetched again, and changes are never dropped.
struct OfflineDamageTests {
    private func scene() async throws -> OfflineScene {
        let scene = try await OfflineScene(pageSize: 100)
        for number in 1...100 { await scene.service.create("text \(number) \(String(repeating: "x", count: 200))") }
        let notes = try await scene.open()
        _ = try await notes.refresh("all")
        for number in 1...40 { try await notes.add(.create("new \(number)")) }
        await notes.close()
        return scene
    }

    private func damage(_ scene: OfflineScene, _ name: String, _ body: (inout Data) -> Void) throws -> Data {
        let path = try scene.file(name)
        var bytes = try scene.bytes(path)
        body(&bytes)
        try bytes.write(to: URL(filePath: path))
        return bytes
    }

    /// Expects that the lists are stored again, and that the reason was reported once.
    private func expectRebuilt(
        _ scene: OfflineScene, code: AccountError.Code = .damaged, _ comment: Comment? = nil
    ) async throws {
        let notes = try await scene.open()
        let before = try await notes.snapshot(of: "all", limit: 100).rows.count - 40
        #expect(notes.droppedLists?.code == code, comment)
        #expect(before == 0, comment)
        #expect(try await notes.refresh("all", limit: 100).rows.count == 140, comment)
        #expect(try await notes.pendingChanges().count == 40)
        await notes.close()
        let again = try await scene.open()
        #expect(try await again.snapshot(of: "all", limit: 100).rows.count == 140, comment)
        #expect(again.droppedLists == nil, "said once")
        await again.close()
    }

    @Test func `Replaces a list file that is not a database and reports this once`() async throws {
        let scene = try await scene()
        _ = try damage(scene, "Lists.sqlite") { $0 = Data("no database".utf8) + Data(count: 5000) }
        try await expectRebuilt(scene)
    }

    @Test(arguments: [1, 99])
    func `Replaces lists with another schema and reports the replacement once`(version: Int) async throws {
        let scene = try await scene()
        try scene.withDatabase("Lists.sqlite") { try $0.execute(sql: "PRAGMA user_version = \(version)") }
        try await expectRebuilt(scene, code: .unsupportedVersion)
    }

    @Test func `Recovers from a damaged row, value or table of lists`() async throws {
        let scene = try await scene()
        for sql in [
            "UPDATE item SET sealed = x'00' WHERE n = 50",
            "UPDATE item SET sealed = zeroblob(500) WHERE n = 50",
            "UPDATE item SET sealed = 7 WHERE n = 50",
            "UPDATE item SET sealed = (SELECT sealed FROM item WHERE n = 51) WHERE n = 50",
            "UPDATE list SET sealed = zeroblob(100)",
            "UPDATE list SET as_of = x'00ff'",
            "UPDATE entry SET position = 'x' WHERE position = 50",
            "DROP TABLE entry",
        ] {
            try scene.withDatabase("Lists.sqlite") { try $0.execute(sql: sql) }
            try await expectRebuilt(scene, "\(sql)")
        }
    }

    @Test(arguments: 1...8)
    func `Recovers from any damaged bytes of lists`(seed: Int) async throws {
        var random = SeededGenerator(seed)
        let scene = try await scene()
        _ = try damage(scene, "Lists.sqlite") { bytes in
            for _ in 1...200 {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
        }
        let notes = try await scene.open()
        for _ in 1...2 {
            let snapshot = try await notes.refresh("all", limit: 100)
            // The next changed page repairs undetected losses.
            await scene.service.changeEntityTags()
            #expect(snapshot.problem == nil)
        }
        #expect(try await notes.refresh("all", limit: 1000).rows.count == 140)
        #expect(try await notes.pendingChanges().count == 40)
    }

    @Test func `Refuses unreadable changes in the outbox, and keeps the file`() async throws {
        let scene = try await scene()
        let path = try scene.file("Outbox.sqlite")
        let whole = try scene.bytes(path)
        var random = SeededGenerator(1)
        let garbage = try damage(scene, "Outbox.sqlite") { $0 = Data("no database".utf8) + Data(count: 5000) }
        await expectAccountError(.damaged) { _ = try await scene.open() }
        #expect(try scene.bytes(path) == garbage)
        for _ in 1...6 {
            try whole.write(to: URL(filePath: path))
            let damaged = try damage(scene, "Outbox.sqlite") { bytes in
                for _ in 1...400 {
                    bytes[Int.random(in: 100..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
                }
            }
            await expectAccountError(.damaged) { _ = try await scene.open().synchronize() }
            #expect(try scene.bytes(path) == damaged)
        }
        #expect(await scene.service.requests.allSatisfy { $0.path == "/all?page=1" })
        // The restored file works again.
        try whole.write(to: URL(filePath: path))
        #expect(try await scene.open().synchronize().sentCount == 40)
    }

    @Test(arguments: [(1, "send its changes with the version that wrote them"), (99, "update this program")])
    func `Refuses an outbox with another schema, and keeps the file`(version: Int, hint: String) async throws {
        let scene = try await scene()
        let path = try scene.file("Outbox.sqlite")
        try scene.withDatabase("Outbox.sqlite") {
            try $0.execute(sql: "PRAGMA journal_mode = DELETE; PRAGMA user_version = \(version)")
        }
        let before = try scene.bytes(path)
        let error = await #expect(throws: AccountError.self) { _ = try await scene.open() }
        #expect(error?.code == .unsupportedVersion)
        #expect(error?.hint?.hasPrefix(hint) == true, "\(error?.description ?? "")")
        #expect(try scene.bytes(path) == before)
        try scene.withDatabase("Outbox.sqlite") { try $0.execute(sql: "PRAGMA user_version = 2") }
        #expect(try await scene.open().synchronize().sentCount == 40)
    }

    @Test func `Empties damaged lists, even while another process reads the lists`() async throws {
        let scene = try await scene()
        let (one, two) = (try await scene.open(), try await scene.open())
        #expect(try await two.ids().count == 140)
        try scene.withDatabase("Lists.sqlite") { try $0.execute(sql: "UPDATE item SET sealed = x'00'") }
        #expect(try await one.ids().count == 40)
        #expect(try await two.ids().count == 40)
        #expect(one.droppedLists != nil && two.droppedLists == nil)
        _ = try await one.refresh("all")
        #expect(try await two.ids().count == 140)
    }
}
#endif
