@testable import EndToEndSupport
import Foundation
import Testing

/// The changes of `gists` in networks in which other servers respond, responses are lost, and clocks differ.
@Suite(.queued)
struct GistsNetworkTests {
    @Test func `gists keeps changes to which a captive portal or a proxy responds`() async throws {
        try await GistsUser.run { user in
            let gist = try await user.server.createGist(description: "first")
            let other = try await user.server.createGist(description: "second")
            _ = try await user.list()
            let portal = Fault(
                path: "/gists*", status: 200, headers: ["Content-Type": "text/html"], body: "<html>Welcome</html>")
            let proxy = Fault(path: "/gists*", status: 404, headers: ["Content-Type": "text/plain"], body: "no route")
            try await user.server.setFaults(portal)
            let star = try await user.gists("star", gist.id)
            #expect(star.exitCode == 0 && star.errors.contains("queued"), "\(star)")
            #expect(star.errors.contains("another server responded"), "\(star)")
            try await user.server.setFaults(proxy)
            let delete = try await user.gists("delete", other.id)
            #expect(delete.exitCode == 0 && delete.errors.contains("queued"), "\(delete)")
            let sync = try await user.gists("sync")
            #expect(sync.exitCode == 69, "\(sync)")
            #expect(try await user.gists("show", gist.id).errors.contains("another server responded"))
            #expect(try await user.pending().map(\.kind) == ["star", "delete"])
            #expect(try await user.server.appliedChanges() == [])

            try await user.server.setFaults([])
            #expect(try await user.gists("sync").exitCode == 0)
            #expect(try await user.server.gists().map(\.id) == [gist.id])
            #expect(try await user.server.allGists().starred(by: "alice").map(\.id) == [gist.id])
            #expect(try await user.pending() == [])
        }
    }

    @Test func `gists sends the other changes past those that fail`() async throws {
        try await GistsUser.run { user in
            let gist = try await user.server.createGist()
            _ = try await user.list()
            #expect(try await user.offline("star", "mistyped/id ?").exitCode == 0)
            _ = try await user.createOffline(String(repeating: "x", count: 100_000))
            #expect(try await user.offline("star", gist.id).exitCode == 0)
            // The service resets the connection of the upload.
            try await user.server.arm(Fault(path: "/gists", method: "POST", disconnect: .before, times: 1))
            let sync = try await user.gists("sync")
            #expect(sync.exitCode == 65, "\(sync)")
            #expect(try await user.server.allGists().starred(by: "alice").map(\.id) == [gist.id])
            let pending = try await user.pending()
            #expect(pending.map(\.state) == ["conflict", "unknown"])

            #expect(try await user.gists("sync").exitCode == 65)
            #expect(try await user.server.gists().count == 2)
            #expect(try await user.gists("resolve", pending[0].change, "--discard").exitCode == 0)
            #expect(try await user.gists("sync").exitCode == 0)
            #expect(try await user.server.allGists().changes(by: "POST").count == 1)
        }
    }

    @Test func `gists makes a long change once if its response is lost`() async throws {
        try await GistsUser.run { user in
            let text = String(repeating: "0123456789abcde\n", count: 94_000)
            try await user.server.arm(.appliedButDropped.on("POST"))
            let create = try await user.gists("create", "--name", "long.txt", input: text)
            #expect(create.exitCode == 0, "\(create.errors)")
            #expect(try await user.gists("sync").exitCode == 0)
            let gist = try #require(try await user.server.gists().first)
            _ = try await user.list()

            try await user.server.arm(.appliedButDropped.on("PATCH"))
            let file = try user.file("long.txt", text + "changed\n")
            #expect(try await user.gists("edit", gist.id, file).exitCode == 0)
            let sync = try await user.gists("sync")
            #expect(sync.exitCode == 0, "\(sync)")
            #expect(try await user.server.gists().map(\.files) == [["long.txt": text + "changed\n"]])
            #expect(try await user.server.appliedChanges().map(\.method) == ["POST", "PATCH"])
        }
    }

    @Test func `gists creates a gist of many files once if its response is lost`() async throws {
        try await GistsUser.run { user in
            // The service sends only 300 of the files.
            let files = try (1...301).map { try user.file("\($0).txt", "text \($0)") }
            try await user.server.arm(.appliedButDropped.on("POST"))
            let create = try await user.gists.run(["create"] + files)
            #expect(create.exitCode == 0, "\(create)")
            let sync = try await user.gists("sync")
            #expect(sync.exitCode == 0, "\(sync)")
            #expect(try await user.server.allGists().changes(by: "POST").count == 1)
        }
    }

    @Test func `gists sends a star although another gist cannot be checked`() async throws {
        try await GistsUser.run { user in
            var gists: [String] = []
            for number in 1...5 { gists.append(try await user.server.createGist(description: "\(number)").id) }
            _ = try await user.list()
            for id in gists.dropLast() {
                #expect(try await user.offline("edit", id, try user.file("a.txt", "new")).exitCode == 0)
            }
            #expect(try await user.offline("star", gists[4]).exitCode == 0)
            try await user.server.setFaults(
                Fault(path: "/gists/*", method: "GET", status: 404, headers: ["Content-Type": "text/plain"], body: "no")
            )
            // Each run ends after three requests without a response from the service, and the next one continues with the
            // changes that failed longest ago.
            let deadline = ContinuousClock.now + .seconds(60)
            var starred: [String] = []
            while starred.isEmpty, ContinuousClock.now < deadline {
                #expect(try await user.gists("sync").exitCode == 69)
                starred = try await user.server.allGists().starred(by: "alice").map(\.id)
            }
            #expect(starred == [gists[4]])
            try await user.server.setFaults([])
            #expect(try await user.gists("sync").exitCode == 0)
        }
    }

    @Test(arguments: [-172_800, 172_800])
    func `gists creates one gist after a lost response with a wrong clock`(ahead: Int) async throws {
        try await GistsUser.run { user in
            let clock = try await WrongClock(in: user.container)
            try await user.server.arm(.appliedButDropped.on("POST"))
            let create = try await clock.run(
                user.gists, ahead: ahead, ["create", "--name", "a.txt"], input: "the text\n")
            #expect(create.exitCode == 0, "\(create)")
            #expect(try await user.pending().map(\.state) == ["unknown"])
            let sync = try await user.gists("sync")
            #expect(sync.exitCode == 0, "\(sync)")
            #expect(try await user.server.gists().map(\.files) == [["a.txt": "the text\n"]])
            #expect(try await user.server.allGists().changes(by: "POST").count == 1)
        }
    }

    @Test(arguments: [-7200, 7200], [true, false])
    func `gists pauses by the service's clock if its own clock is wrong`(ahead: Int, isLimit: Bool) async throws {
        try await GistsUser.run { user in
            let gist = try await user.server.createGist()
            let clock = try await WrongClock(in: user.container)
            let format = DateFormatter()
            format.locale = Locale(identifier: "en_US_POSIX")
            format.timeZone = .gmt
            format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
            let end = Date.now + 90
            try await user.server.setFaults(
                Fault(
                    path: "/gists*", method: "PUT", status: 403,
                    headers: isLimit
                        ? ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "\(Int(end.timeIntervalSince1970))"]
                        : ["Retry-After": format.string(from: end)], body: "{}", times: 1))
            let star = try await clock.run(user.gists, ahead: ahead, ["star", gist.id])
            let wait = try #require(star.errors.firstMatch(of: /pause of another ([0-9]+) s/)?.output.1, "\(star)")
            #expect((1...91).contains(Int(wait) ?? 0), "\(star)")
        }
    }
}
