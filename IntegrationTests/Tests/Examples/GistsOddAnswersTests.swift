@testable import EndToEndSupport
import Foundation
import Testing

/// Answers of a service that are odd, but possible: `gists` shows what is readable, shows no other text than that of the file, and
/// its exit code tells whether the output is complete. `OddPagesTests` and `RemotePageTests` have the lists.
@Suite(.queued)
struct GistsOddAnswersTests {
    /// A gist, and what `gists show` prints.
    private struct Row: Sendable {
        /// The JSON of the files.
        var files: String
        /// Other members of the gist.
        var others = #""public":true"#
        /// The JSON of the ID.
        var id: String?
        /// The responses for the texts, by path.
        var texts: [Fault] = []
        var arguments: [String] = []
        var exitCode: Int32 = 0
        var output: String
        var errors = ""
    }

    private static let path = "/gists-raw/x/1/a.txt"

    private static func text(_ body: String, at path: String = path) -> Fault {
        Fault(path: path, status: 200, headers: ["Content-Type": "text/plain"], body: body)
    }

    private static func redirect(to target: String) -> Fault {
        Fault(path: path, status: 302, headers: ["Location": target], body: "")
    }

    /// A file with a relative address.
    private static func file(_ members: String, _ name: String = "a.txt") -> String {
        #"{"\#(name)":{"filename":"\#(name)","raw_url":"\#(path)"\#(members.isEmpty ? "" : ",")\#(members)}}"#
    }

    private static let texts = [
        Row(files: file(#""size":6,"content":null"#), texts: [text("whole\n")], output: "whole\n"),
        Row(files: file(#""size":6"#), texts: [text("whole\n")], output: "whole\n"),
        Row(files: file(""), texts: [text("whole\n")], exitCode: 69, output: "", errors: "cannot be checked"),
        Row(files: file(#""size":6,"content":"wh""#), texts: [text("whole\n")], output: "whole\n"),
        Row(
            files: file(#""size":9,"content":"wh""#), texts: [text("whole\n")], exitCode: 69, output: "wh",
            errors: "it has 6 bytes instead of 9"),
        Row(
            files: file(#""content":"begin","truncated":true"#), texts: [text("<html>Welcome</html>")], exitCode: 69,
            output: "begin", errors: "does not begin like the file"),
        Row(files: file(#""content":"begin","truncated":true"#), texts: [text("beginning")], output: "beginning"),
        Row(files: file(#""content":"b\ud83d","truncated":true,"size":5"#), texts: [text("b😀")], output: "b😀"),
        Row(files: file(#""content":"YWI=","encoding":"base64","size":2"#), texts: [text("ab")], output: "ab"),
        // Redirects.
        Row(
            files: file(#""size":6"#),
            texts: [redirect(to: "/gists-raw/y/1/a.txt"), text("whole\n", at: "/gists-raw/y/1/a.txt")],
            output: "whole\n"),
        Row(
            files: file(#""size":6"#), texts: [redirect(to: path)], exitCode: 69, output: "",
            errors: "redirects more than five times"),
        Row(
            files: file(#""size":6"#), texts: [redirect(to: "http://u:canary@127.0.0.1:9/x")], exitCode: 69, output: "",
            errors: "is not valid"),
        Row(
            files: file(#""size":6"#), texts: [redirect(to: "http://gists.example.com/x")], exitCode: 69, output: "",
            errors: "is not available"),
    ]

    private static let one = #"{"a.txt":{"content":"b\n"}}"#
    private static let unreadable = #"{"a.txt":null,"b.txt":{"content":"b\n"}}"#

    private static let members = [
        Row(files: unreadable, exitCode: 69, output: "b.txt\n", errors: "cannot be read: a.txt"),
        Row(files: unreadable, arguments: ["--file", "b.txt"], output: "b\n", errors: "cannot be read: a.txt"),
        Row(
            files: unreadable, arguments: ["--file", "a.txt"], exitCode: 69, output: "", errors: "a.txt cannot be read"),
        Row(files: #"{"a.txt":{"content":"b\n","size":"2"}}"#, id: "7001", output: "b\n"),
        Row(files: #"{"a.txt":{"content":"b\n","size":99999999999999999999999}}"#, output: "b\n"),
        Row(files: #"{"a.txt":{"content":"b\n","size":1e400,"language":7}}"#, output: "b\n"),
        Row(files: "{\"a.txt\":{\"content\":\"a\u{1}b\",\"size\":3}}", output: "a\u{1}b"),
        Row(files: "{}", output: "", errors: "this gist has no files"),
        Row(files: "[]", output: "", errors: "this gist has no files"),
        Row(files: "null", output: "", errors: "this gist has no files"),
        Row(files: one, others: #""public":1,"updated_at":7,"description":{}"#, output: "b\n"),
        Row(
            files: one, others: #""truncated":true"#, exitCode: 69, output: "a.txt\n",
            errors: "only 1 file of this gist (GitHub: at most 300)"),
        Row(files: one, others: #""truncated":true"#, arguments: ["--file", "a.txt"], output: "b\n"),
    ]

    private func expect(_ rows: [Row]) async throws {
        try await GistsUser.run { user in
            for (index, row) in rows.enumerated() {
                let id = row.id ?? #""odd\#(index)""#
                let path = id.replacing("\"", with: "")
                let gist = #"{"id":\#(id),"files":\#(row.files),\#(row.others)}"#
                try await user.server.setFaults([Fault(path: "/gists/" + path, status: 200, body: gist)] + row.texts)
                let show = try await user.gists.run(["show", path] + row.arguments)
                #expect(show.exitCode == row.exitCode && show.output == row.output, "\(gist) \(show)")
                #expect(show.errors.contains(row.errors) || row.errors.isEmpty, "\(gist) \(show)")
                #expect(row.exitCode != 0 || !show.errors.contains("incomplete"), "\(gist) \(show)")
                #expect(!show.errors.contains("canary") && !show.errors.contains("once online"), "\(show)")
            }
        }
    }

    @Test func `gists shows the text of a file, and no other text`() async throws { try await expect(Self.texts) }

    @Test func `gists shows a gist with members of any form`() async throws { try await expect(Self.members) }

    @Test func `gists keeps the texts of a gist of which one is missing`() async throws {
        try await GistsUser.run { user in
            try await user.server.limitGistContent(to: 10)
            let texts = ["a.txt": String(repeating: "a", count: 100), "b.txt": String(repeating: "b", count: 100)]
            let gist = try await user.server.createGist(files: texts)
            let fault = Fault(path: "/gists-raw/*", status: 503, times: 1)
            try await user.server.setFaults(fault)
            let part = try await user.gists("show", gist.id, "--json")
            #expect(part.exitCode == 69 && part.errors.contains("first 10 of 100 bytes of a.txt"), "\(part)")
            #expect(!part.errors.contains("b.txt"), "\(part)")
            for times in [1, 1_000_000] {
                // The stored text is not requested again.
                try await user.server.setFaults(Fault(path: "/gists-raw/*", status: 503, times: times))
                let whole = try await user.gists("show", gist.id, "--file", "b.txt")
                #expect(whole.exitCode == 0 && whole.output == texts["b.txt"], "\(whole)")
            }
            try await user.server.clearFaults()
            #expect(try await user.gists("show", gist.id, "--json").exitCode == 0)
            #expect(try await user.offline("show", gist.id, "--file", "a.txt").output == texts["a.txt"])
        }
    }

    @Test func `gists exits with 69 if a list or a text is not all there`() async throws {
        try await GistsUser.run { user in
            let ids = try await user.server.seedGists(75)
            _ = try await user.list()
            for arguments in [["--all", "--offline"], ["--page", "3", "--offline"], ["--page", "2", "--offline"]] {
                let list = try await user.gists.run(["list"] + arguments)
                #expect(list.exitCode == 69 && list.errors.contains("without --offline"), "\(list)")
                #expect(list.output.isEmpty == arguments.contains("--page"), "\(list)")
            }
            let json = try await user.gists("list", "--all", "--offline", "--json")
            #expect(json.exitCode == 69 && json.output.contains(#""incomplete" : true"#), "\(json)")
            let unreachable = try await user.offline("list", "--page", "3")
            #expect(unreachable.exitCode == 69 && unreachable.errors.contains("page 3 of this list"), "\(unreachable)")
            // A list has only the names of the files.
            let listed = try await user.gists("show", ids[74], "--offline", "--json")
            #expect(listed.exitCode == 69 && listed.errors.contains("is not stored here"), "\(listed)")

            let page = Fault(path: "/gists", status: 503, afterHandler: false, skip: 1, times: nil)
            try await user.server.setFaults(page)
            let failed = try await user.gists("list", "--all", "--json")
            #expect(failed.exitCode == 69 && failed.output.contains(#""incomplete" : true"#), "\(failed)")
            try await user.server.clearFaults()
            #expect(try await user.ids().count == 75)
            let all = try await user.gists("list", "--all", "--offline", "--json")
            #expect(all.exitCode == 0 && !all.output.contains("incomplete"), "\(all)")
            for tool in [user.gists, user.offline] {
                let beyond = try await tool("list", "--page", "9")
                #expect(beyond.exitCode == 0 && beyond.output.isEmpty, "\(beyond)")
            }
        }
    }

    @Test func `gists lists the next pages without a link, or a query of it`() async throws {
        try await GistsUser.run { user in
            let ids = try await user.server.seedGists(75)
            try await user.server.setFaults(Fault(path: "/gists", headers: ["Link": ""]))
            #expect(try await user.ids() == Array(ids.reversed()))
            func gist(_ id: String) -> String { #"[{"id":"\#(id)","public":true,"files":{}}]"# }
            let next = ["Link": #"</gists/page2>; rel="next""#]
            try await user.server.setFaults(
                Fault(path: "/gists/starred", status: 200, headers: next, body: gist("one")),
                Fault(path: "/gists/page2", status: 200, body: gist("two")))
            #expect(try await user.ids("starred") == ["one", "two"])
        }
    }

    /// Runs a command with a closed pipe and with the default action of SIGPIPE, as a shell does, and prints its exit
    /// status.
    private static let closedPipe = """
        import os, subprocess, sys
        r, w = os.pipe()
        os.close(r)
        print(subprocess.run(sys.argv[1:], stdout=w, restore_signals=True).returncode)
        """

    @Test func `A closed pipe ends gists without a message`() async throws {
        try await GistsUser.run { user in
            let gist = try await user.server.createGist(files: ["a.txt": "one\ntwo\n"])
            for arguments in [["show", gist.id], ["list"], ["list", "--json"], ["status"]] {
                let command = user.gists.command(arguments)
                let outcome = try await command.run(by: "python3", "-c", Self.closedPipe).run()
                #expect(outcome.output == "-13\n" && outcome.errors == "", "\(outcome)")
            }
        }
    }
}
