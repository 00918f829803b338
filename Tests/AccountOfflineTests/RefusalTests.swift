#if Offline
import AccountKit
import Foundation
import HTTPTypes
import Testing

@testable import AccountOffline

/// Each end of a change says why, and loses no text of the user.
struct RefusalTests {
    @Test func `Keeps a deleted item while an edit of it waits`() async throws {
        let scene = try await OfflineScene()
        let (edited, other) = (await scene.service.create("edited"), await scene.service.create("other"))
        let notes = try await scene.open()
        for id in [edited, other] { try await notes.refreshItem(id) }
        try await notes.add(.update(edited, "mine"))
        for id in [edited, other] {
            await scene.service.delete(id)
            let error = await #expect(throws: AccountError.self) { try await notes.refreshItem(id) }
            #expect(error?.code == .requestRefused)
        }
        #expect(try await notes.item(edited)?.text == "mine")
        #expect(try await notes.item(other) == nil)
        // Without the edit, the item goes, too.
        let change = try #require(try await notes.pendingChanges().first)
        #expect(try await notes.discard(change.id))
        await #expect(throws: AccountError.self) { try await notes.refreshItem(edited) }
        #expect(try await notes.item(edited) == nil)
    }

    private static let scopes = ["X-Accepted-OAuth-Scopes": "gist", "X-OAuth-Scopes": "user"]

    @Test(arguments: [ChangeKind.create, .update, .delete, .star, .unstar])
    func `Refuses a change for which the token lacks a scope`(kind: ChangeKind) async throws {
        let scene = try await OfflineScene()
        let id = await scene.service.create("text")
        let notes = try await scene.open()
        switch kind {
        case .create: try await notes.add(.create("new"))
        case .update: try await notes.add(.update(id, "mine"))
        default: try await notes.add(Change(kind, of: id))
        }
        await scene.service.fail { request in
            request.method == .get ? nil : .status(404, Self.scopes, body: #"{"message":"Not Found"}"#)
        }
        _ = try await notes.synchronize()
        let change = try #require(try await notes.pendingChanges().first)
        #expect(change.state == .refused && change.lastProblem?.contains("the scope gist") == true, "\(change)")
        #expect(await scene.service.notes.map(\.text) == ["text"])
    }

    @Test(arguments: ["<html>", "", "[", #"{"id":1}"#, #"{"id":null,"text":"canary"}"#])
    func `Shows no text of a decoder for the response of another server`(body: String) async throws {
        let scene = try await OfflineScene()
        let id = await scene.service.create("text")
        let notes = try await scene.open()
        try await notes.add(.update(id, "mine"))
        await scene.service.fail { _ in .status(200, body: body) }
        var words: [String] = []
        let failure = await #expect(throws: AccountError.self) { try await notes.refreshItem(id) }
        words.append(failure.map { "\($0)" } ?? "")
        words.append(try await notes.refresh("all").problem.map { "\($0)" } ?? "")
        _ = try await notes.synchronize()
        words.append(try await notes.pendingChanges().first?.lastProblem ?? "")
        for text in words {
            for word in ["DecodingError", "Context", "Domain=", "debugDescription", "canary", "Swift."] {
                #expect(!text.contains(word), "\(text)")
            }
            #expect(!text.isEmpty)
        }
    }
}
#endif
