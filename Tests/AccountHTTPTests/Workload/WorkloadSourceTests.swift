import AccountKit
import Foundation
import HTTPTypes
import Testing

@testable import AccountHTTP

struct WorkloadSourceTests {
    private static let advice = "permissions: id-token: write"

    private func assertion(
        from source: WorkloadSource, _ environment: [String: String] = [:], timeout: Duration = .seconds(60)
    ) async throws -> Secret {
        try await source.assertion(
            for: "https://login.example.com/a b", timeout: timeout, environment: { environment[$0] }
        ) { request async throws(AuthorityError) in
            try await HTTPTransport.shared.send(request, timeout: .seconds(20), clock: FixedClock(), logger: nil)
        }
    }

    private func misconfiguration(_ body: () async throws -> some Any) async throws -> String {
        guard case .misconfigured(let text)? = await asyncFailure(body) else { throw Missing() }
        return text
    }

    private struct Missing: Error {}

    // MARK: Names

    @Test(arguments: [
        ("github-actions", ["github-actions"]), ("gitlab", ["env", "GITLAB_OIDC_TOKEN"]),
        ("env TOKEN", ["env", "TOKEN"]),
        ("file /run/a token", ["file", "/run/a token"]), ("command  print --now", ["command", "print", "--now"]),
    ])
    func `Reads the name of a source, and writes it to an archive`(text: String, words: [String]) throws {
        let source = try WorkloadSource(text)
        #expect(source.words == words)
        #expect(try WorkloadSource(words: words) == source)
    }

    @Test func `Stores the absolute path of a relative file`() throws {
        let path = FileManager.default.currentDirectoryPath + "/token"
        #expect(try WorkloadSource("file token") == .file(path))
    }

    @Test(arguments: [
        "", "github", "github-actions now", "env", "env A B", "env A=B", "file", "command", "eyJhbGciOi",
    ])
    func `Refuses an unknown source without repeating it`(text: String) throws {
        let error = try #require(throws: AccountError.self) { try WorkloadSource(text) }
        #expect(error.code == .invalidArgument)
        #expect(text != "eyJhbGciOi" || !error.description.contains(text))
    }

    // MARK: GitHub Actions

    @Test(arguments: ["ACTIONS_ID_TOKEN_REQUEST_URL", "ACTIONS_ID_TOKEN_REQUEST_TOKEN"])
    func `Names the permission if GitHub offers no assertion`(missing: String) async throws {
        var environment = ["ACTIONS_ID_TOKEN_REQUEST_URL": "https://a", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "runner"]
        environment[missing] = nil
        let text = try await misconfiguration { try await assertion(from: .gitHubActions, environment) }
        #expect(text.contains(missing) && text.contains(Self.advice))
    }

    @Test(arguments: [(403, #"{"value":"h.p.s"}"#), (200, "{}"), (200, "<html>")])
    func `Reports that GitHub issued no assertion`(status: Int, body: String) async throws {
        try await LoopbackServer.run { _, _ in
            .response(status, ["Content-Type": "application/json"], body)
        } _: { server in
            let environment = [
                "ACTIONS_ID_TOKEN_REQUEST_URL": server.address, "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "runner",
            ]
            let text = try await misconfiguration { try await assertion(from: .gitHubActions, environment) }
            #expect(text.contains("status \(status)") && text.contains(Self.advice))
            #expect(!text.contains("runner") && !text.contains("h.p.s"))
        }
    }

    @Test func `Reports that GitHub is unreachable`() async throws {
        let environment = [
            "ACTIONS_ID_TOKEN_REQUEST_URL": "http://127.0.0.1:1", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "runner",
        ]
        let text = try await misconfiguration { try await assertion(from: .gitHubActions, environment) }
        #expect(text.contains("127.0.0.1:1") && !text.contains("noResponse"))
    }

    // MARK: Variables, files and programs

    @Test func `Reads a variable`() async throws {
        #expect(try await assertion(from: .environment("TOKEN"), ["TOKEN": "h.p.s"]) == Secret("h.p.s"))
        let text = try await misconfiguration { try await assertion(from: .gitLab) }
        #expect(text.contains("GITLAB_OIDC_TOKEN") && text.contains("id_tokens"))
    }

    @Test(arguments: [
        "h.p.s\n", "h.p.s\r\n", " h.p.s ", "\n\nh.p.s\nrest", "\u{FEFF}h.p.s", "\th.p.s\u{A0}", "h.p.s\r",
    ])
    func `Trims an assertion from every source`(text: String) async throws {
        try await TemporaryFile.run(text) { path in
            for source in [WorkloadSource.file(path), .command(["cat", path])] {
                let found = try await assertion(from: source)
                #expect(found == Secret("h.p.s"), "\(source.words)")
            }
        }
        guard !text.contains("rest") else { return }
        #expect(try await assertion(from: .environment("TOKEN"), ["TOKEN": text]) == Secret("h.p.s"))
    }

    @Test func `Reads the first line of a file, each time`() async throws {
        try await TemporaryFile.run("h.p.1\r\nsecond line") { path in
            #expect(try await assertion(from: .file(path)) == Secret("h.p.1"))
            try Data("h.p.2".utf8).write(to: URL(filePath: path))
            #expect(try await assertion(from: .file(path)) == Secret("h.p.2"))
            let text = try await misconfiguration { try await assertion(from: .file(path + "-missing")) }
            #expect(text.contains(path) && text.contains("check that the file is mounted"))
            let folder = FileManager.default.temporaryDirectory.path()
            #expect(try await misconfiguration { try await assertion(from: .file(folder)) }.contains("is not a file"))
        }
    }

    @Test(arguments: [(0o600, true), (0o440, true), (0o644, true), (0o620, false), (0o602, false), (0o666, false)])
    func `Refuses a file that other users can change`(mode: Int, isAccepted: Bool) async throws {
        try await TemporaryFile.run("h.p.s") { path in
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            guard !isAccepted else {
                #expect(try await assertion(from: .file(path)) == Secret("h.p.s"))
                return
            }
            let text = try await misconfiguration { try await assertion(from: .file(path)) }
            #expect(text.contains("other users can change") && text.contains("chmod go-w \(path)"), "\(text)")
        }
    }

    /// Only root can give a file to another user.
    @Test(.enabled(if: getuid() == 0))
    func `Refuses a file of another user`() async throws {
        try await TemporaryFile.run("h.p.s") { path in
            #expect(chown(path, 65534, 65534) == 0)
            let text = try await misconfiguration { try await assertion(from: .file(path)) }
            #expect(text.contains(path) && text.contains("belongs to"), "\(text)")
        }
    }

    @Test(arguments: [
        "two words", "", "\r\n \n", "\u{FEFF}", "töken", String(repeating: "x", count: WorkloadSource.sizeLimit + 1),
    ])
    func `Refuses text that is no assertion, without repeating it`(content: String) async throws {
        try await TemporaryFile.run(content) { path in
            let text = try await misconfiguration { try await assertion(from: .file(path)) }
            #expect(text.contains("assertion"))
            #expect(content.isEmpty || !text.contains(content))
        }
    }

    @Test func `Accepts an assertion of 64 KiB`() async throws {
        let content = String(repeating: "x", count: WorkloadSource.sizeLimit)
        try await TemporaryFile.run(content) { path in
            let found = try await assertion(from: .file(path))
            #expect(found == Secret(content))
        }
    }

    @Test func `Runs a program without a shell`() async throws {
        #expect(try await assertion(from: .command(["printf", "%s\nrest", "$HOME"])) == Secret("$HOME"))
        let failed = try await misconfiguration { try await assertion(from: .command(["false"])) }
        #expect(failed.contains("`false` ended with 1"))
        let missing = try await misconfiguration { try await assertion(from: .command(["no-such-program"])) }
        #expect(missing.contains("could not be started"))
        let slow = try await misconfiguration {
            try await assertion(from: .command(["sleep", "60"]), timeout: .milliseconds(1))
        }
        #expect(slow.contains("took longer"))
    }
}
