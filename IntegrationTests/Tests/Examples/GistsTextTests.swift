@testable import EndToEndSupport
import Foundation
import Testing

/// The texts of `gists`: content cannot control a terminal and otherwise stays unchanged, and each end says what to do.
/// `TerminalTextTests`, `ServiceExplanationTests` and `MissingPermissionTests` have the tables.
@Suite(.queued)
struct GistsTextTests {
    @Test func `gists escapes content on a terminal, and keeps it in a pipe`() async throws {
        try await GistsUser.run { user in
            let text = "\u{1B}]0;title\u{7}\u{1B}[2Jred\u{202E}\r\n👩🏽‍💻 می\u{200C}خواهم\ttab\n"
            let gist = try await user.server.createGist(description: "👩🏽‍💻", files: ["می\u{200C}.txt": text])
            let piped = try await user.gists("show", gist.id)
            #expect(piped.exitCode == 0 && Array(piped.output.utf8) == Array(text.utf8), "\(piped)")

            let session = try await Terminal.run(user.gists.command(["show", gist.id]), columns: 200)
            #expect(session.exitCode == 0, "\(session)")
            let screen = session.rawScreen
            #expect(screen.contains(#"\u{1B}]0;title\u{7}\u{1B}[2Jred\u{202E}"#), "\(session)")
            #expect(screen.contains("👩🏽‍💻 می\u{200C}خواهم\ttab"), "\(session)")
            #expect(!screen.contains("\u{1B}]") && !screen.contains("\u{202E}"), "\(session)")

            let list = try await user.gists("list")
            #expect(list.output.contains("می\u{200C}.txt") && list.output.contains("👩🏽‍💻"), "\(list)")
        }
    }

    private static let deleted = "it was deleted at the service"

    @Test func `An edit of a deleted gist can be shown, saved and created again`() async throws {
        try await GistsUser.run { user in
            let gist = try await user.server.createGist(description: "d", files: ["a.txt": "one", "b.txt": "b"])
            #expect(try await user.gists("show", gist.id).exitCode == 0)
            try await user.server.deleteGist(gist.id)
            let edit = try await user.gists("edit", gist.id, try user.file("a.txt", "mine"))
            #expect(edit.exitCode == 65 && edit.errors.contains(Self.deleted), "\(edit)")
            let change = try #require(try await user.pending().first)
            #expect(edit.errors.contains("`gists show \(gist.id)` shows it"), "\(edit)")
            #expect(edit.errors.contains("`gists resolve \(change.change) --mine` creates the gist again"), "\(edit)")

            for _ in 0..<2 {
                let show = try await user.gists("show", gist.id, "--file", "a.txt")
                #expect(show.exitCode == 0 && show.output == "mine", "\(show)")
            }
            let resolve = try await user.offline("resolve", change.change, "--mine")
            #expect(resolve.exitCode == 0 && resolve.errors.contains("created again"), "\(resolve)")
            #expect(try await user.pending().map(\.kind) == ["create"])
            #expect(try await user.gists("sync").exitCode == 0)
            let gists = try await user.server.gists()
            #expect(gists.map(\.files) == [["a.txt": "mine", "b.txt": "b"]] && gists.map(\.description) == ["d"])
            #expect(try await user.pending() == [])
        }
    }

    @Test func `Each refusal says why, and what to do`() async throws {
        try await GistsUser.run { user in
            let gist = try await user.server.createGist()
            _ = try await user.list()
            var fault = Fault(path: "/gists*", status: 422).on("POST")
            fault.body = #"""
                {"message":"Validation Failed","errors":[{"resource":"Gist","code":"custom","field":"files",
                "message":"contents are too large"}],"documentation_url":"https://docs.github.com/"}
                """#
            try await user.server.arm(fault)
            let create = try await user.gists("create", "--name", "b.txt", input: "text")
            #expect(create.exitCode == 65, "\(create)")
            #expect(create.errors.contains("422: Validation Failed (files: contents are too large)"), "\(create)")
            #expect(create.errors.contains("--discard"), "\(create)")

            fault = Fault(path: "/gists*", status: 404).on("PATCH")
            fault.headers = ["X-Accepted-OAuth-Scopes": "gist", "X-OAuth-Scopes": "read:user"]
            fault.body = #"{"message":"Not Found","documentation_url":"https://docs.github.com/"}"#
            try await user.server.arm(fault)
            let edit = try await user.gists("edit", gist.id, try user.file("a.txt", "mine"))
            #expect(edit.exitCode == 65 && edit.errors.contains("requires the scope gist"), "\(edit)")
            #expect(!edit.errors.contains("conflict") && !edit.errors.contains("deleted"), "\(edit)")

            for body in ["<html>Welcome</html>", #"{"portal":1}"#, "[", ""] {
                var portal = Fault(path: "/gists*", status: 200).on("GET", times: nil)
                (portal.body, portal.headers) = (body, ["Content-Type": "text/html"])
                try await user.server.clearFaults()
                try await user.server.arm(portal)
                for arguments in [["list"], ["show", gist.id], ["sync"]] {
                    let outcome = try await user.gists.run(arguments)
                    let words = ["DecodingError", "dataCorrupted", "NSCocoa", "Domain=", "keyNotFound", "Swift."]
                    for word in words { #expect(!outcome.errors.contains(word), "\(outcome)") }
                    #expect(!outcome.errors.isEmpty, "\(outcome)")
                }
            }
        }
    }

    @Test func `gists shows a list in which the service has cut a text`() async throws {
        try await GistsUser.run { user in
            var fault = Fault(path: "/gists*", status: 200).on("GET")
            fault.body = #"""
                [{"id":"aa","description":"cut \ud83d","public":true,"files":{"a.txt":{"filename":"a.txt"}}},
                {"id":"bb","description":"\ud83d\ude00","public":true,"files":{"b.txt":{"filename":"b.txt"}}}]
                """#
            try await user.server.arm(fault)
            let list = try await user.gists("list")
            #expect(list.output == "aa  a.txt  cut \u{FFFD}\nbb  b.txt  😀\n" && list.exitCode == 0, "\(list)")
            let stored = try await user.list("mine", "--offline")
            #expect(stored.gists.map(\.description) == ["cut \u{FFFD}", "😀"])
        }
    }

    @Test func `Each end names the command that helps`() async throws {
        try await GistsUser.run { user in
            let gist = try await user.server.createGist()
            let none = try await user.gists("list", "starred", "--offline")
            #expect(none.exitCode == 69 && none.errors.contains("run `gists list starred`"), "\(none)")
            let unknown = try await user.gists("show", "mistyped")
            #expect(unknown.exitCode == 69 && unknown.errors.contains("`gists list` shows"), "\(unknown)")
            _ = try await user.list()

            var fault = Fault(path: "/gists*", status: 401).on("GET", times: nil)
            fault.body = #"{"message":"Bad credentials","documentation_url":"https://docs.github.com/"}"#
            try await user.server.arm(fault)
            let refused = try await user.gists("list")
            #expect(refused.exitCode == 0 && refused.output.contains(gist.id), "\(refused)")
            #expect(refused.errors.contains("sign in again with `gists account login`"), "\(refused)")
            try await user.server.clearFaults()

            fault = Fault(path: "/gists*", status: 403).on("PATCH")
            fault.headers = [
                "X-GitHub-SSO": "required; url=https://github.com/orgs/octo/sso?authorization_request=canary"
            ]
            fault.body = #"{"message":"Resource protected","documentation_url":"https://docs.github.com/"}"#
            try await user.server.arm(fault)
            let edit = try await user.gists("edit", gist.id, try user.file("a.txt", "mine"))
            #expect(edit.exitCode == 65 && edit.errors.contains("at https://github.com/orgs/octo/sso,"), "\(edit)")
            #expect(edit.errors.contains("`gists account login --step-up`"), "\(edit)")
            #expect(!edit.errors.contains("canary"), "\(edit)")
            let status = try await user.offline("status", "--offline")
            #expect(status.output.contains("`gists resolve "), "\(status)")
        }
    }

    @Test func `GISTS_API may have a path`() async throws {
        try await GistsUser.run { user in
            let ids = try await user.server.seedGists(40)
            for address in ["/api/v3", "/api/v3/", "//api//v3", ""] {
                let gists = user.gists.with("GISTS_API", user.server.issuer + address)
                #expect(try await user.ids(with: gists).count == 40)
                #expect(try await gists("show", ids[0]).exitCode == 0)
            }
            let enterprise = user.gists.with("GISTS_API", user.server.issuer + "/api/v3")
            let create = try await enterprise("create", "--name", "a.txt", input: "text")
            #expect(create.exitCode == 0, "\(create)")
            #expect(try await user.server.gists().count == 41)
            for address in [
                "ghe.example.com/api/v3", "https://", "https://u:canary@h/", "https://h/?x", "https://h/../x",
                "https://h/%2e%2e/x", "https://h/api/graphql", "http://ghe.example.com/api/v3", "ftp://h/",
                "localhost:80",
            ] {
                let outcome = try await user.gists.with("GISTS_API", address)("list")
                #expect(outcome.exitCode == 64 && outcome.errors.contains("https://HOST/api/v3"), "\(outcome)")
                #expect(outcome.errors.contains("GISTS_API"), "\(outcome)")
                #expect(!outcome.errors.contains("canary"), "\(outcome)")
            }
        }
    }
}
