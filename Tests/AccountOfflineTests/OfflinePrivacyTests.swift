#if Offline
import AccountKit
import AccountTesting
import Foundation
import GRDB
import HTTPTypes
import Testing

@testable import AccountOffline

/// The users of the data, and its protection.
struct OfflinePrivacyTests {
    private static let marker = "MARKER-7f3a9c"

    /// A scene with the marker in all data, for finding legible text.
    private func scene() async throws -> (OfflineScene, OfflineCollection<Notes>) {
        let scene = try await OfflineScene()
        for number in 1...8 {
            await scene.service.create("\(Self.marker) text \(number)", id: "\(Self.marker)-id-\(number)")
        }
        let notes = try await scene.open()
        try await notes.refreshAll("all")
        _ = try await notes.refresh("starred")
        try await notes.refreshItem("\(Self.marker)-id-1")
        try await notes.add(.create("\(Self.marker) made"))
        try await notes.add(.update("\(Self.marker)-id-2", "\(Self.marker) edited", base: Self.marker))
        await scene.service.fail(.status(429, body: #"{"message":"\#(Self.marker)"}"#))
        _ = try await notes.synchronize()
        return (scene, notes)
    }

    @Test func `Leaves no file name and no file content legible`() async throws {
        let (scene, notes) = try await scene()
        #expect(try await notes.ids().count == 9)
        #expect(scene.files.contains { $0.hasSuffix("Lists.sqlite-wal") })
        #expect(scene.files.contains { $0.hasSuffix("Outbox.sqlite-wal") })
        #expect(try scene.files(with: Self.marker) == [])
        for word in ["all", "starred", "notes", "local-", "create", "/all?page"] {
            #expect(try scene.files(with: "\"\(word)").isEmpty)
        }
        for text in ["starred", "/all?page", "local-"] { #expect(try scene.files(with: text).isEmpty, "\(text)") }
        await notes.close()
        #expect(try scene.files(with: Self.marker) == [])
        // Check that the search finds a legible marker.
        try scene.withDatabase("Lists.sqlite") { try $0.execute(sql: "CREATE TABLE x AS SELECT '\(Self.marker)'") }
        #expect(try scene.files(with: Self.marker).count == 1)
    }

    @Test func `Creates only private files for offline data`() async throws {
        let (scene, _) = try await scene()
        for path in scene.files where path.contains(".sqlite") {
            #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        }
    }

    @Test func `Leaves no offline data readable after a sign-out`() async throws {
        let (scene, notes) = try await scene()
        #expect(try await notes.unsentWork() == "2 unsent changes")
        let kept = try scene.bytes(try scene.file("Outbox.sqlite-wal"))
        try await scene.store.signOut()
        await notes.remove()
        #expect(scene.files.filter { $0.contains("/Offline/") } == [])
        #expect(try scene.files(with: Self.marker) == [])
        #expect(kept.range(of: Data(Self.marker.utf8)) == nil)
        try await scene.signIn("248289761001")
        let again = try await scene.open()
        #expect(try await again.ids().isEmpty)
        #expect(try await again.unsentWork() == nil)
    }

    @Test func `Stores no list response that arrives after a sign-out`() async throws {
        let (scene, notes) = try await scene()
        scene.clock.advance(by: .seconds(100))
        await scene.service.create("late")
        let before = try scene.counts()
        await scene.service.beforeResponse { [store = scene.store] _ in try await store.signOut() }
        #expect(try await notes.refresh("all").problem?.code == .notSignedIn)
        await expectAccountError(.notSignedIn) { try await notes.refreshAll("all") }
        await expectAccountError(.notSignedIn) { try await notes.refreshItem("\(Self.marker)-id-3") }
        await expectAccountError(.notSignedIn) { try await notes.add(.create("late")) }
        await expectAccountError(.notSignedIn) { _ = try await notes.synchronize() }
        #expect(try scene.counts() == before)
    }

    @Test func `Records a change as sent if another user signs in during the request`() async throws {
        let scene = try await OfflineScene()
        let notes = try await scene.open()
        _ = try await notes.refresh("all")
        try await notes.add(.create("first"))
        try await notes.add(.create("second"))
        await scene.service.beforeResponse { [scene] request in
            if request.method == .post { try await scene.signIn("bob") }
        }
        await expectAccountError(.notSignedIn) { _ = try await notes.synchronize() }
        await scene.service.beforeResponse(nil)
        let bobs = try await scene.open()
        #expect(try await bobs.unsentWork() == nil)
        #expect(try await bobs.synchronize().sentCount == 0)
        try await scene.signIn("248289761001")
        let again = try await scene.open()
        #expect(try await again.synchronize().sentCount == 1)
        #expect(await scene.service.notes.map(\.text) == ["second", "first"])
    }

    @Test(arguments: ["/Library", "/Library/Caches", "/Library/Caches/Offline"])
    func `Refuses caches below a folder that others can write to`(place: String) async throws {
        let scene = try await OfflineScene()
        _ = try await scene.open()
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: scene.root + place)
        await expectAccountError(.insecureContainer) { _ = try await scene.open() }
    }
}

extension OfflineScene {
    fileprivate func counts() throws -> [Int?] {
        try withDatabase("Lists.sqlite") { database in
            try ["item", "list", "entry", "detail"].map {
                try Int.fetchOne(database, sql: "SELECT count(*) FROM \($0)")
            }
        } + [try withDatabase("Outbox.sqlite") { try Int.fetchOne($0, sql: "SELECT count(*) FROM change") }]
    }
}
#endif
