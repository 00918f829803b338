@testable import EndToEndSupport
import Foundation
import Subprocess
import Testing

/// `reading-list`, a short adapter for Kinto. This service accepts the client's ID for a new item, and changes an item
/// only in the version that the client specifies.
@Suite(.queued)
struct KintoTests {
    // MARK: Lists

    @Test func `reading-list caches a paged list and revalidates it by entity tag`() async throws {
        try await Reader.run { reader in
            let ids = try await reader.kinto.seed(70)
            let rows = try await reader.list("--limit", "100")
            #expect(rows.map(\.id) == ids.reversed())
            #expect(rows.map(\.title) == (1...70).reversed().map { "Page \($0)" })
            let pages = try await reader.proxy.log()
            #expect(pages.count == 3 && pages.dropFirst().allSatisfy { $0.contains("_token=") }, "\(pages)")

            let offline = try await reader.offline("list", "--limit", "100")
            #expect(offline.exitCode == 0 && offline.errors.hasPrefix("as of "), "\(offline)")
            #expect(try await reader.list("--limit", "100", with: reader.offline) == rows)
            #expect(try await reader.list("--limit", "100", "--offline") == rows)

            #expect(try await reader.list("--limit", "70") == rows)
            let again = try await reader.proxy.log()
            #expect(again.count == 1 && again[0].hasSuffix(" 304"), "\(again)")
            try await reader.kinto.edit(ids[0], title: "Page one")
            #expect(try await reader.list("--limit", "1") == [.init(id: ids[0], title: "Page one", isPending: false)])
        }
    }

    // MARK: Changes

    @Test func `reading-list sends offline changes once and in order`() async throws {
        try await Reader.run { reader in
            let ids = try await reader.kinto.seed(2)
            _ = try await reader.list()
            _ = try await reader.proxy.log()
            try await reader.makeOffline("add", "https://example.com/a", "--title", "A")
            try await reader.makeOffline("add", "https://example.com/b", "--title", "B")
            let made = try await reader.list("--offline")
            #expect(made.map(\.title) == ["B", "A", "Page 2", "Page 1"])
            #expect(made.map(\.isPending) == [true, true, false, false])
            try await reader.makeOffline("edit", made[1].id, "--title", "A, second edition")
            try await reader.makeOffline("edit", made[1].id, "--read")
            try await reader.makeOffline("remove", made[0].id)
            try await reader.makeOffline("edit", ids[0], "--title", "Page one")
            try await reader.makeOffline("remove", ids[1])
            #expect(try await reader.list("--offline").map(\.title) == ["A, second edition", "Page one"])
            let offline = try await reader.offline("account", "sync")
            #expect(offline.exitCode == 69 && offline.errors.contains("offline ("), "\(offline)")
            #expect(try await reader.proxy.log() == [])

            try reader.done(try await reader.tool("account", "sync"))
            let changes = try await reader.proxy.log().filter { !$0.contains("/records?") }
            let methods = changes.map { $0.prefix { $0 != " " } }
            #expect(methods.sorted() == ["DELETE", "PATCH", "PATCH", "PATCH", "POST"])
            let articles = try await reader.kinto.articles()
            #expect(articles.map(\.title).sorted { $0 ?? "" < $1 ?? "" } == ["A, second edition", "Page one"])
            #expect(articles.first { $0.title != "Page one" }?.read == true)
            #expect(Set(try await reader.list().map(\.id)) == Set(articles.compactMap(\.id)))
            #expect(try await reader.list().allSatisfy { !$0.isPending })
        }
    }

    @Test func `Creates one record without a search if the response is lost`() async throws {
        try await Reader.run { reader in
            // Create a record with the same content, which a search would find.
            try reader.done(try await reader.tool("add", "https://example.com/a", "--title", "A"))
            try await reader.proxy.lose("POST")
            let add = try reader.done(try await reader.tool("add", "https://example.com/a", "--title", "A"))
            #expect(add.errors.hasPrefix("Stored, but not sent yet"), "\(add)")
            #expect(try await reader.pending() == [.init(kind: "create", state: "unknown")])
            #expect(try await reader.titles() == ["A", "A"])
            _ = try await reader.proxy.log()

            try reader.done(try await reader.tool("account", "sync"))
            let log = try await reader.proxy.log().filter { !$0.contains("/records?") }
            #expect(log.count == 1 && log[0].hasPrefix("POST ") && log[0].hasSuffix(" 200"), "\(log)")
            try reader.done(try await reader.tool("account", "sync"))
            #expect(try await reader.titles() == ["A", "A"])
            #expect(try await reader.list().map(\.title) == ["A", "A"])
        }
    }

    @Test(arguments: ["edit", "remove"])
    func `A repeated change after a lost response is not a conflict`(command: String) async throws {
        try await Reader.run { reader in
            let ids = try await reader.kinto.seed(2)
            _ = try await reader.list()
            let isEdit = command == "edit"
            try await reader.proxy.lose(isEdit ? "PATCH" : "DELETE")
            let words = [command, ids[0]] + (isEdit ? ["--title", "Page one"] : [])
            try reader.done(try await reader.tool.run(words))
            #expect(try await reader.pending().map(\.state) == ["unknown"])
            _ = try await reader.proxy.log()
            try reader.done(try await reader.tool("account", "sync"))
            let log = try await reader.proxy.log().filter { !$0.contains("/records?") }
            // After a 404, the tool checks whether the record still exists.
            #expect(log.map { $0.suffix(4) } == (isEdit ? [" 200"] : [" 404", " 404"]), "\(log)")
            #expect(try await reader.titles() == (isEdit ? ["Page one", "Page 2"] : ["Page 2"]))
            // The tool has stored the item's current version, so a further change succeeds.
            if isEdit { try reader.done(try await reader.tool("edit", ids[0], "--read")) }
        }
    }

    // MARK: Other clients

    @Test(arguments: zip(["edit", "remove"], ["--mine", "--theirs"]))
    func `A conflicting change waits for the user while other changes are sent`(
        command: String, decision: String
    ) async throws {
        try await Reader.run { reader in
            let ids = try await reader.kinto.seed(2)
            _ = try await reader.list()
            try await reader.kinto.edit(ids[0], title: "theirs")
            if command == "edit" {
                try await reader.makeOffline("edit", ids[0], "--title", "mine")
            } else {
                try await reader.makeOffline("remove", ids[0])
            }
            try await reader.makeOffline("edit", ids[1], "--title", "other")
            let sync = try await reader.tool("account", "sync")
            #expect(sync.exitCode == 65 && sync.errors.contains("  conflict: 412"), "\(sync)")
            #expect(try await reader.titles() == ["other", "theirs"])

            let change = try #require(sync.errors.firstMatch(of: /([0-9a-f-]{36})  [a-z]+ \S+  conflict/)?.output.1)
            try reader.done(try await reader.tool("account", "resolve", String(change), decision))
            try reader.done(try await reader.tool("account", "sync"))
            let titles = try await reader.titles()
            #expect(titles == (command == "edit" ? ["mine", "other"] : ["other", "theirs"]))
            #expect(try await reader.list().map(\.title) == titles)
        }
    }

    @Test func `Reports a conflict if another client removed an edited item`() async throws {
        try await Reader.run { reader in
            let ids = try await reader.kinto.seed(3)
            _ = try await reader.list()
            try await reader.makeOffline("edit", ids[0], "--title", "mine")
            try await reader.makeOffline("remove", ids[1])
            for id in ids[0...1] { try await reader.kinto.delete(id) }
            let sync = try await reader.tool("account", "sync")
            #expect(sync.exitCode == 65 && sync.errors.contains("it no longer exists (404"), "\(sync)")
            #expect(sync.errors.contains("Sent 1 change."), "\(sync)")
            let change = try #require(sync.errors.firstMatch(of: /([0-9a-f-]{36})  update \S+  conflict/)?.output.1)
            try reader.done(try await reader.tool("account", "resolve", String(change), "--theirs"))
            #expect(try await reader.list().map(\.id) == [ids[2]])
            #expect(try await reader.list("--offline").map(\.id) == [ids[2]])
        }
    }

    // MARK: The promise

    @Test func `The reading-list adapter has at most 60 lines`() throws {
        let adapter = BuiltProducts.example("Sources/reading-list/ArticlesAPI.swift")
        let source = try String(contentsOfFile: adapter, encoding: .utf8)
        #expect(source.contains(": RemoteCollection {"))
        #expect(source.split(separator: "\n", omittingEmptySubsequences: false).count <= 61)
    }
}
