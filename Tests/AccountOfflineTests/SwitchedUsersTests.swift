#if Offline
import AccountKit
import AccountTesting
import Foundation
import HTTPTypes
import TestScene
import Testing

@testable import AccountOffline

/// Two users take turns on one machine, and responses arrive after the other user has signed in. Each seed gives the
/// same run.
struct SwitchedUsersTests {
    /// A service with separate data for each user, selected by the requesting collection.
    private final class Users: Sendable {
        let services = ["alice": NoteService(), "bob": NoteService()]

        func open(_ user: String, _ scene: OfflineScene) async throws -> OfflineCollection<Notes> {
            let service = services[user]!
            return try await OfflineCollection(
                "notes", Notes(), of: scene.store,
                in: AppContainer(root: scene.root, identifier: "com.example.notes"), clock: scene.clock,
                sending: { try await service.send($0, $1) })
        }
    }

    /// Checks that the visible data belongs to the signed-in user, and that no file is legible.
    private func check(
        _ user: String, _ notes: OfflineCollection<Notes>, _ scene: OfflineScene, _ comment: Comment
    ) async throws {
        let other = user == "alice" ? "bob" : "alice"
        for row in try await notes.snapshot(of: "all", limit: 1000).rows {
            #expect(row.item.text.hasPrefix("MARK \(user)"), comment)
            #expect(try await notes.item(row.id)?.text.contains(other) != true, comment)
        }
        for change in try await notes.pendingChanges() {
            #expect(!String(decoding: change.change.body, as: UTF8.self).contains(other), comment)
        }
        #expect(try scene.files(with: "MARK").isEmpty, comment)
    }

    /// A hundred switches each.
    @Test(arguments: seeds(10))
    func `Never sends or shows one user's data to another user`(seed: Int) async throws {
        var random = SeededGenerator(seed)
        let scene = try await OfflineScene()
        let users = Users()
        for (name, service) in users.services {
            for number in 1...5 { await service.create("MARK \(name) \(number)", id: "MARK-\(name)-\(number)") }
        }
        var isForgotten = ["alice": true, "bob": true]
        var waiting = ["alice": 0, "bob": 0]
        var late: [(user: String, notes: OfflineCollection<Notes>)] = []
        var number = 0
        for step in 1...100 {
            let user = Bool.random(using: &random) ? "alice" : "bob"
            try await scene.signIn(user)
            let notes = try await users.open(user, scene)
            // Kept data is available again, and removed data is not.
            #expect(try await notes.pendingChanges().count == waiting[user], "seed \(seed), step \(step)")
            if isForgotten[user] == true { #expect(try await notes.storedLists().isEmpty) }
            for (owner, old) in late where owner != user {
                // The late responses arrive now.
                await expectAccountError(.notSignedIn) { try await old.add(.create("MARK \(owner) late")) }
                #expect(try await old.refresh("all").problem?.code == .notSignedIn)
                await expectAccountError(.notSignedIn) { try await old.refreshItem("MARK-\(owner)-1") }
            }
            for (_, old) in late { await old.close() }
            late = []
            if Bool.random(using: &random) {
                _ = try await notes.refresh("all")
                isForgotten[user] = false
            }
            for _ in 0..<Int.random(in: 0...2, using: &random) {
                number += 1
                try await notes.add(.create("MARK \(user) made \(number)"))
                waiting[user]! += 1
            }
            if Int.random(in: 0..<3, using: &random) == 0, waiting[user]! > 0 {
                // The session changes during the response: the change counts as sent, and the lists are not updated.
                _ = try await notes.synchronize()
                waiting[user] = 0
                isForgotten[user] = false
            }
            try await check(user, notes, scene, "seed \(seed), step \(step)")
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                try await scene.store.signOut()
                await notes.remove()
                isForgotten[user] = true
                waiting[user] = 0
                #expect(try scene.files(with: "MARK").isEmpty)
            case 1:
                await scene.endSession()
                await notes.close()
            case 2: late.append((user, notes))
            default: await notes.close()
            }
        }
        // Finally, each user sends the remaining changes.
        for (user, service) in users.services {
            try await scene.signIn(user)
            let notes = try await users.open(user, scene)
            let report = try await notes.synchronize(ignoringBackOff: true)
            #expect(report.sentCount == waiting[user] && report.pending.isEmpty, "seed \(seed)")
            #expect(await service.notes.allSatisfy { $0.text.hasPrefix("MARK \(user)") })
        }
    }
}
#endif
