@testable import EndToEndSupport
import Foundation
import Testing

/// The tool `gists`, which shows lists without the network and sends each offline change once.
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
        }
    }

    @Test func `gists status checks the connection unless --offline is given`() async throws {
        try await GistsUser.run { user in
            try await user.server.seedGists(3)
            _ = try await user.list()
            let online = try await user.gists("status")
            #expect(online.exitCode == 0 && online.output.contains("service: online\n"), "\(online)")
            let offline = try await user.offline("status")
            #expect(
                offline.exitCode == 0 && offline.output.contains(/service: offline: the connection to .* was refused\n/)
            )
            #expect(try await !user.offline("status", "--offline").output.contains("service:"))
            let status = try await user.offline("status", "--json")
            let document = try JSONSerialization.jsonObject(with: Data(status.output.utf8)) as? [String: Any]
            #expect(document?["connectivity"] as? String == "offline")
            let list = try #require((document?["lists"] as? [[String: Any]])?.first)
            #expect(list["count"] as? Int == 3)
            #expect(try #require(list["bytes"] as? Int) > 0)
            // One failure is not enough to report the service as offline.
            try await user.server.arm(.captivePortal)
            #expect(try await user.gists("status").output.contains("service: online\n"))
        }
    }

    @Test func `Edits, stars and shows a gist created offline by the local ID`() async throws {
        try await GistsUser.run { user in
            _ = try await user.list("starred")
            _ = try await user.list()
            let id = try await user.createOffline("one\n")
            #expect(try await user.offline("edit", id, try user.file("b.txt", "more\n")).exitCode == 0)
            #expect(try await user.offline("star", id).exitCode == 0)
            #expect(try await user.ids("starred", with: user.offline) == [id])
            let given = try await user.createOffline("never sent")
            #expect(try await user.offline("delete", given).exitCode == 0)
            #expect(try await user.ids(with: user.offline) == [id])

            #expect(try await user.gists("sync").exitCode == 0)
            let gists = try await user.server.gists()
            #expect(gists.map(\.files) == [["a.txt": "one\n", "b.txt": "more\n"]])
            #expect(gists.map(\.starredBy) == [["alice"]])
            let changes = try await user.server.appliedChanges()
            #expect(changes.map(\.method) == ["POST", "PUT"], "\(changes)")
            #expect(try await user.gists("show", id, "--file", "b.txt").output == "more\n")
            #expect(try await user.ids("starred", with: user.offline) == gists.map(\.id))
        }
    }

    @Test(arguments: [Fault.appliedButDropped, .appliedButTruncated, .appliedBut(status: 502)])
    func `Creates one gist if the response is lost`(fault: Fault) async throws {
        try await GistsUser.run { user in
            try await user.server.createGist(files: ["a.txt": "the same\n"])
            try await user.server.arm(fault.on("POST"))
            let create = try await user.gists("create", "--name", "b.txt", input: "the same\n")
            #expect(create.exitCode == 0, "\(create)")
            #expect(try await user.gists("sync").exitCode == 0)
            #expect(try await user.server.gists().map(\.files).count { $0 == ["b.txt": "the same\n"] } == 1)
            #expect(try await user.server.allGists().changes(by: "POST").count == 1)
            #expect(try await user.pending() == [])
        }
    }

    @Test func `Creates two equal gists even if a response is lost`() async throws {
        try await GistsUser.run { user in
            _ = try await user.createOffline("the same")
            _ = try await user.createOffline("the same")
            try await user.server.arm(.appliedButDropped.on("POST", afterSkipping: 1))
            _ = try await user.gists("sync")
            #expect(try await user.gists("sync").exitCode == 0)
            #expect(try await user.server.gists().count == 2)
        }
    }

    @Test(arguments: ["--mine", "--theirs", "--discard"])
    func `A conflicting change waits for the user while other changes are sent`(
        decision: String
    ) async throws {
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
            #expect(try await user.gists("resolve", change.change, decision).exitCode == 0)
            // The tool shows the service's version immediately.
            if decision == "--theirs" { #expect(try await user.offline("show", gist.id).output == "theirs") }
            #expect(try await user.gists("sync").exitCode == 0)
            let files = try await user.server.gists().first { $0.id == gist.id }?.files
            #expect(files == ["a.txt": decision == "--mine" ? "mine" : "theirs"])
        }
    }

    @Test func `Keeps the cached gists on a captive portal, error or empty list`() async throws {
        try await GistsUser.run { user in
            try await user.server.seedGists(40)
            let ids = try await user.ids()
            #expect(ids.count == 40)
            for fault in [
                Fault.captivePortal, .serverError(503), .badCredentials, .emptyList, .rateLimited(resetIn: 60),
            ] {
                try await user.server.arm(fault.on("GET"))
                let list = try await user.gists("list", "mine")
                #expect(list.exitCode == 0 && list.output.split(separator: "\n").count == 30, "\(list)")
                #expect(try await user.ids(with: user.offline) == ids)
            }
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

    @Test func `Hides a user's unsent changes from other users until the next sign-in`() async throws {
        try await GistsUser.run { user in
            _ = try await user.list()
            let id = try await user.createOffline("alice's")
            try await user.server.endSessions()
            let sync = try await user.gists("sync")
            #expect(sync.exitCode == 77, "\(sync)")
            try await user.signIn(as: "bob")
            #expect(try await user.pending() == [])
            #expect(try await user.gists("show", id).exitCode != 0)
            _ = try await user.gists("sync")
            #expect(try await user.server.allGists().gists == [])
            try await user.signIn()
            #expect(try await user.pending().map(\.id) == [id])
            #expect(try await user.gists("sync").exitCode == 0)
            #expect(try await user.server.gists().map(\.files) == [["a.txt": "alice's"]])
        }
    }

    @Test func `Sends no change if another user signs in during a lookup`() async throws {
        try await GistsUser.run { user in
            _ = try await user.createOffline("alice's")
            // The connection is dropped, so the next attempt first looks for the gist at the service.
            try await user.server.arm(.dropped.on("POST"))
            #expect(try await user.gists("sync").exitCode == 69)
            try await expectNothingOfBobs(user, syncing: user.gists, while: user.server.hold(.nothing.on("GET")))
        }
    }

    @Test func `Sends no change if another user signs in during a refresh`() async throws {
        try await GistsUser.run { user in
            _ = try await user.createOffline("alice's")
            // According to this clock, alice's token has expired, so the tool refreshes before it sends the change.
            let late = try await WrongClock(in: user.container).tool(user.gists, ahead: 7200)
            try await expectNothingOfBobs(user, syncing: late, while: user.server.holdRefreshes())
        }
    }

    /// Signs bob in while a request of alice's `sync` is held, and expects that only alice's session sends the change.
    private func expectNothingOfBobs(_ user: GistsUser, syncing gists: Tool, while gate: Gate) async throws {
        let sync = try await gists.command(["sync"]).whileRunning { _ in
            try await gate.waitUntilHeld()
            try await user.signIn(as: "bob")
            try await gate.open()
        }
        #expect(sync.exitCode == 77, "\(sync)")
        #expect(try await user.server.allGists().gists == [])
        #expect(try await user.server.appliedChanges() == [])
        #expect(try await user.pending() == [])
        try await user.server.clearFaults()
        try await user.signIn()
        #expect(try await user.gists("sync").exitCode == 0)
        #expect(try await user.server.gists().map(\.files) == [["a.txt": "alice's"]])
        #expect(try await user.server.appliedChanges().map(\.user) == ["alice"])
    }

    @Test func `Sends a change once, even if the state in the file is altered`() async throws {
        try await GistsUser.run { user in
            _ = try await user.createOffline("once")
            try await user.server.arm(.appliedButDropped.on("POST"))
            #expect(try await user.gists("sync").exitCode == 69)
            let before = try await user.pending()
            #expect(before.map(\.state) == ["unknown"])
            let files = try FileManager.default.subpathsOfDirectory(atPath: user.container.home)
            let outbox = user.container.home + "/" + (try #require(files.first { $0.hasSuffix("/Outbox.sqlite") }))
            let script = """
                import sqlite3, sys
                with sqlite3.connect(sys.argv[1]) as database:
                    database.execute("UPDATE change SET state = 'queued', attempts = 0, not_before = NULL")
                """
            let altered = try await Command(words: ["python3", "-c", script, outbox]).run()
            #expect(altered.exitCode == 0, "\(altered)")
            #expect(try await user.pending() == before)
            #expect(try await user.gists("sync").exitCode == 0)
            #expect(try await user.server.gists().map(\.files) == [["a.txt": "once"]])
        }
    }

    @Test func `Revalidates an unchanged list without transferring gists`() async throws {
        try await GistsUser.run { user in
            let ids = try await user.server.seedGists(250)
            let first = try await user.list("mine", "--all")
            #expect(first.gists.map(\.id) == ids.reversed())
            #expect(first.source == "network")
            try await user.server.clearLog()
            let second = try await user.list("mine", "--all")
            #expect(second.gists == first.gists)
            #expect(second.source == "notModified")
            let statuses = try await statusesOfLists(user)
            #expect(statuses.count > 2 && statuses.allSatisfy { $0 == 304 }, "\(statuses)")

            // A change on the first page leaves the other pages unchanged.
            try await user.server.editGist(ids[249], files: ["a.txt": "changed"])
            try await user.server.clearLog()
            #expect(try await user.list("mine", "--all").gists.map(\.id) == first.gists.map(\.id))
            let changed = try await statusesOfLists(user)
            #expect(changed.contains(304) && changed.contains(200), "\(changed)")
        }
    }

    private func statusesOfLists(_ user: GistsUser) async throws -> [Int?] {
        try await user.server.log().requests.filter { $0.method == "GET" && $0.path.hasPrefix("/gists") }.map(\.status)
    }

    @Test func `gists list --json escapes characters that control a terminal`() async throws {
        try await GistsUser.run { user in
            let outcome = try await user.offline(
                "create", "--name", "a.txt", "--description", "a\u{9B}31mb\u{202E}c", input: "one\n")
            #expect(outcome.exitCode == 0, "\(outcome)")
            let list = try await user.offline("list", "--json")
            #expect(list.output.contains(#""a\u009b31mb\u202ec""#), "\(list)")
        }
    }

    /// Mounts over the container, which has a copy beside it.
    private static let readOnly = "mount --bind '$' '$'; mount -o remount,bind,ro '$'"
    private static let full = """
        mount -t tmpfs -o size=512k,mode=700 none '$'; cp -a '$.copy/.' '$'; head -c 1M /dev/zero > '$/filler' || true
        """

    @Test(arguments: [readOnly, full], [true, false])
    func `Reads stored lists, but queues no change, on a read-only or full disk`(
        mount: String, hasLog: Bool
    ) async throws {
        try await GistsUser.run { user in
            let ids = try await user.server.seedGists(3)
            #expect(try await user.ids().sorted() == ids.sorted())
            let home = user.container.home
            if hasLog { try await leaveLog(of: try lists(of: user)) }
            try FileManager.default.copyItem(atPath: home, toPath: home + ".copy")
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
            #expect(try await user.pending() == [])
        }
    }

    @Test(arguments: [readOnly, full])
    func `Lists gists from the service on a read-only or full disk`(mount: String) async throws {
        try await GistsUser.run { user in
            let ids = try await user.server.seedGists(3)
            _ = try await user.list()
            try FileManager.default.removeItem(atPath: try lists(of: user))
            let home = user.container.home
            try FileManager.default.copyItem(atPath: home, toPath: home + ".copy")
            let list = try await user.gists.command(["list", "--json"])
                .run(inMountsOfItsOwn: mount.replacing("$", with: home)).run()
            #expect(list.exitCode == 0, "\(list)")
            #expect(ids.allSatisfy { list.output.contains($0) }, "\(list)")
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
