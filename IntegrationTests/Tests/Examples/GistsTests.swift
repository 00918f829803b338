@testable import EndToEndSupport
import Foundation
import Testing

/// The tool `gists`, which shows lists without the network and sends each offline change once. The tests of
/// AccountOffline have the responses of a service, the lists, the outbox and the change of users.
@Suite(.queued)
struct GistsTests {
    @Test func `gists shows a cached list offline and sends an offline change once`() async throws {
        try await GistsUser.run { user in
            let gist = try await user.server.createGist(description: "first", files: ["a.txt": "one\n"])
            let none = try await user.offline("list")
            #expect(none.exitCode == 69, "\(none)")
            #expect(try await user.list().gists.map(\.id) == [gist.id])
            #expect(try await user.gists("show", gist.id).output == "one\n")

            let list = try await user.offline("list")
            #expect(list.exitCode == 0 && list.output.contains("first"), "\(list)")
            #expect(list.errors.contains("offline (") && list.errors.hasPrefix("as of "), "\(list)")
            #expect(try await user.offline("show", gist.id).output == "one\n")
            let edit = try await user.offline("edit", gist.id, try user.file("a.txt", "two\n"))
            #expect(edit.exitCode == 0 && edit.errors.contains("queued; sent when the network is back"), "\(edit)")
            #expect(try await user.offline("show", gist.id).output == "two\n")
            #expect(try await user.list(with: user.offline).gists.map(\.pending) == [true])
            let sync = try await user.offline("sync")
            #expect(sync.exitCode == 69, "\(sync)")

            #expect(try await user.gists("sync").exitCode == 0)
            #expect(try await user.gists("sync").exitCode == 0)
            #expect(try await user.server.gists().map(\.files) == [["a.txt": "two\n"]])
            #expect(try await user.server.appliedChanges().map(\.method) == ["PATCH"])
            #expect(try await user.pending() == [])

            #expect(try await user.gists("status").output.contains("service: online\n"))
            let offline = try await user.offline("status")
            #expect(
                offline.exitCode == 0 && offline.output.contains(/service: offline: the connection to .* was refused\n/)
            )
        }
    }

    @Test func `Creates one gist if the response is lost`() async throws {
        try await GistsUser.run { user in
            try await user.server.createGist(files: ["a.txt": "the same\n"])
            try await user.server.arm(.appliedButDropped.on("POST"))
            let create = try await user.gists("create", "--name", "b.txt", input: "the same\n")
            #expect(create.exitCode == 0, "\(create)")
            #expect(try await user.gists("sync").exitCode == 0)
            #expect(try await user.server.gists().map(\.files).count { $0 == ["b.txt": "the same\n"] } == 1)
            #expect(try await user.server.allGists().changes(by: "POST").count == 1)
            #expect(try await user.pending() == [])
        }
    }

    @Test func `A conflicting change waits for the user while other changes are sent`() async throws {
        try await GistsUser.run { user in
            let gist = try await user.server.createGist(files: ["a.txt": "one"])
            let other = try await user.server.createGist(files: ["a.txt": "other"])
            _ = try await user.list()
            #expect(try await user.offline("edit", gist.id, try user.file("a.txt", "mine")).exitCode == 0)
            #expect(try await user.offline("star", other.id).exitCode == 0)
            try await user.server.editGist(gist.id, files: ["a.txt": "theirs"])
            let sync = try await user.gists("sync")
            #expect(sync.exitCode == 65 && sync.errors.contains("it was changed at the service"), "\(sync)")
            #expect(try await user.server.allGists().starred(by: "alice").map(\.id) == [other.id])

            let change = try #require(try await user.pending().first)
            #expect(change.state == "conflict")
            #expect(try await user.gists("resolve", change.change, "--theirs").exitCode == 0)
            // The tool shows the service's version immediately.
            #expect(try await user.offline("show", gist.id).output == "theirs")
            #expect(try await user.gists("sync").exitCode == 0)
            let files = try await user.server.gists().first { $0.id == gist.id }?.files
            #expect(files == ["a.txt": "theirs"])
        }
    }

    @Test func `gists logout warns about unsent changes, then removes all user data`() async throws {
        try await GistsUser.run { user in
            let gist = try await user.server.createGist(
                description: "marker-7f3a", files: ["marker-7f3a.txt": "marker-7f3a"])
            #expect(try await user.gists("show", gist.id).exitCode == 0)
            _ = try await user.list()
            _ = try await user.createOffline("marker-7f3a")
            // The files are encrypted even before the sign-out.
            #expect(try user.files(containing: "marker-7f3a") == [])
            #expect(try user.files(containing: gist.id) == [])

            let refusal = try await user.gists("account", "logout")
            #expect(refusal.exitCode == 75 && refusal.errors.contains("1 unsent change"), "\(refusal)")
            #expect(try await user.gists("account", "whoami", "--offline").output == "alice\n")
            // Signing out does not require the API's URL.
            #expect(try await user.gists.with("GISTS_API", nil)("account", "logout", "--force").exitCode == 0)
            let files = try FileManager.default.subpathsOfDirectory(atPath: user.container.home)
            #expect(!files.contains { $0.hasSuffix(".sqlite") || $0.contains("Offline-") }, "\(files)")
            #expect(try await user.gists("list", "--offline").exitCode == 77)
            try await user.signIn()
            #expect(try await user.offline("list").exitCode == 69)
            #expect(try await user.pending() == [])
        }
    }

    @Test func `gists shows a whole file, or says that it is incomplete`() async throws {
        try await GistsUser.run { user in
            try await user.server.limitGistContent(to: 1000)
            let text = String(repeating: "0123456789é\n", count: 200)
            let gist = try await user.server.createGist(files: ["a b.txt": text])
            try await user.server.arm(Fault(path: "/gists-raw/*", status: 503, times: nil))
            let part = try await user.gists("show", gist.id)
            #expect(part.exitCode == 69 && text.hasPrefix(part.output) && part.output.utf8.count <= 1000, "\(part)")
            #expect(part.errors.contains("incomplete: this is only the first"), "\(part)")
            #expect(part.errors.contains(" of 2600 bytes"), "\(part)")
            #expect(try await user.offline("show", gist.id).exitCode == 69)
            try await user.server.clearFaults()
            let whole = try await user.gists("show", gist.id)
            #expect(whole.exitCode == 0 && whole.output == text, "\(whole)")
            // Without the network, the stored file is whole, too, and has its age.
            let stored = try await user.gists("show", gist.id, "--offline")
            #expect(stored.exitCode == 0 && stored.output == text, "\(stored)")
            #expect(stored.errors.hasPrefix("as of ") && !stored.errors.contains("old version"), "\(stored)")

            try await user.server.editGist(gist.id, files: ["a b.txt": "new"])
            _ = try await user.list()
            let old = try await user.gists("show", gist.id, "--offline")
            #expect(old.exitCode == 0 && old.errors.contains("this is an old version"), "\(old)")

            let files = Dictionary(uniqueKeysWithValues: (1...301).map { ("\($0).txt", "x") })
            let large = try await user.server.createGist(files: files)
            let names = try await user.gists("show", large.id)
            #expect(names.exitCode == 69 && names.errors.contains("only 300 files"), "\(names)")
            let same = try await user.gists(
                "create", try user.file("n.txt", "one"), user.container.path("files/../files/n.txt"))
            #expect(same.exitCode == 64 && same.errors.contains("same file n.txt"), "\(same)")
            #expect(try await user.server.appliedChanges().isEmpty)
        }
    }

    @Test func `gists shows all gists beside one that it cannot read`() async throws {
        try await GistsUser.run { user in
            func gist(_ id: String, _ files: String) -> String {
                #"{"id":"\#(id)","public":true,"created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z","files":\#(files)}"#
            }
            let whole = #"{"a.txt":{"filename":"a.txt","size":3}}"#
            let body =
                "["
                + [
                    gist("one", whole), gist("two", #"{"a.txt":null,"b.txt":{"filename":"b.txt"}}"#),
                    gist("three", "7"), "null",
                ]
                .joined(separator: ",") + "]"
            try await user.server.arm(
                Fault(path: "/gists", status: 200, headers: ["Content-Type": "application/json"], body: body, times: 1))
            for arguments in [["list"], ["list", "--offline"]] {
                let list = try await user.gists.run(arguments)
                #expect(list.exitCode == 0, "\(list)")
                #expect(list.output.contains("one  a.txt") && list.output.contains("two  b.txt"), "\(list)")
                #expect(list.errors.contains("cannot be read: three"), "\(list)")
                #expect(list.errors.contains("without an ID"), "\(list)")
            }
        }
    }

    @Test func `gists lists each gist on one page while deletes wait`() async throws {
        try await GistsUser.run { user in
            let ids = Array(try await user.server.seedGists(75).reversed())
            #expect(try await user.ids() == ids)
            // While deletes wait, each other gist is on one page.
            for id in [ids[4], ids[29], ids[30]] { #expect(try await user.offline("delete", id).exitCode == 0) }
            let expected = ids.filter { ![ids[4], ids[29], ids[30]].contains($0) }
            var shown: [String] = []
            for page in 1...3 { shown += try await user.list("mine", "--page", "\(page)", "--offline").gists.map(\.id) }
            #expect(shown == expected)
        }
    }

    /// Mounts over the container, which has a copy beside it.
    private static let readOnly = "mount --bind '$' '$'; mount -o remount,bind,ro '$'"
    private static let full = """
        mount -t tmpfs -o size=512k,mode=700 none '$'; cp -a '$.copy/.' '$'; head -c 1M /dev/zero > '$/filler' || true
        """

    @Test func `Reads stored lists, but queues no change, on a read-only or full disk`() async throws {
        try await GistsUser.run { user in
            let ids = try await user.server.seedGists(3)
            #expect(try await user.ids().sorted() == ids.sorted())
            let home = user.container.home
            try await leaveLog(of: try lists(of: user))
            try FileManager.default.copyItem(atPath: home, toPath: home + ".copy")
            for mount in [Self.readOnly, Self.full] {
                func run(_ arguments: String...) async throws -> Outcome {
                    try await user.offline.command(arguments)
                        .run(inMountsOfItsOwn: mount.replacing("$", with: home)).run(input: "text")
                }
                let list = try await run("list", "--json")
                #expect(list.exitCode == 0, "\(list)")
                #expect(ids.allSatisfy { list.output.contains($0) }, "\(list)")
                let change = try await run("create", "--name", "a.txt")
                #expect(change.exitCode == 74, "\(change)")
                #expect(change.errors.contains("read-only") || change.errors.contains("full"), "\(change)")
            }
            #expect(try await user.pending() == [])
        }
    }

    private func lists(of user: GistsUser) throws -> String {
        let files = try FileManager.default.subpathsOfDirectory(atPath: user.container.home)
        return user.container.home + "/" + (try #require(files.first { $0.hasSuffix("/Lists.sqlite") }))
    }

    /// Leaves the last commit in the log of a database, as a killed process does.
    private func leaveLog(of database: String) async throws {
        let script = """
            import os, sqlite3, sys
            database = sqlite3.connect(sys.argv[1])
            database.execute("UPDATE list SET last_used = last_used + 1")
            database.commit()
            os._exit(0)
            """
        let outcome = try await Command(words: ["python3", "-c", script, database]).run()
        #expect(outcome.exitCode == 0, "\(outcome)")
        #expect(FileManager.default.fileExists(atPath: database + "-wal"))
    }
}
