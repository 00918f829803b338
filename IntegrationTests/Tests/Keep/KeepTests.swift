@testable import EndToEndSupport
import Foundation
import Subprocess
import Testing

/// `account keep`, which maintains a file with a valid token. `KeepStateMachineTests`, `KeepLoopTests` and `TokenFileTests`
/// have the tables of events, of failures and of files that `keep` must not replace.
@Suite(.queued)
struct KeepTests {
    /// The file's text, or `nil` while the file does not exist.
    private func text(_ path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }

    private func names(_ folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    }

    /// Creates a folder for the file that only alice can use.
    private func folder(_ container: Container) throws -> String {
        let folder = container.path("kept")
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        return folder
    }

    @Test func `keep maintains a private file and removes the file on exit`() async throws {
        try await SignedInUser.run { user in
            let folder = try folder(user.container)
            let path = folder + "/token"
            let keep = user.account.command(["keep", "--file", path])
            let outcome = try await keep.run(by: "sh", "-c", "umask 000; exec \"$@\"", "sh").whileRunning { keep in
                try await keep.errors.wait(for: "\(path) has a token that is valid until")
                #expect(text(path) == (try await user.account.storedToken()))
                let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
                #expect(mode == 0o600)
                try await keep.send(.terminate)
            }
            #expect(outcome.wasEnded(by: .terminate), "\(outcome)")
            #expect(outcome.output == "")
            #expect(try names(folder) == [])
        }
    }

    @Test func `keep writes the file as the current user or reports why not`() async throws {
        try await SignedInUser.run { user in
            let path = try folder(user.container) + "/token"
            let account = try await user.account.unprivileged(in: user.container)
            #expect(try await account("keep", "--once", "--file", path).exitCode == 0)
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect(attributes[.ownerAccountID] as? UInt32 == Privileges.unprivilegedUser)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            #expect(text(path) == (try await account.storedToken()))

            let foreign = user.container.path("foreign")
            try FileManager.default.createDirectory(
                atPath: foreign, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o555])
            let once = try await account("keep", "--once", "--file", foreign + "/token")
            #expect(once.exitCode == 74, "\(once)")
            #expect(once.output == "")
            #expect(once.errors.contains("cannot write the token to \(foreign)/token"), "\(once)")
            #expect(once.errors.contains("Permission denied"), "\(once)")
            #expect(try names(foreign) == [])
        }
    }

    @Test func `keep refreshes early, and follows sign-ins and sign-outs`() async throws {
        try await SignedInUser.run(serverOptions: ["--access-token-lifetime", "6"]) { user in
            let path = try folder(user.container) + "/token"
            let outcome = try await user.account.command(["keep", "--file", path]).whileRunning { keep in
                try await keep.errors.wait(for: "has a token")
                for _ in 1...2 {
                    let last = text(path)
                    try await waitUntil("the file has a new token") { text(path) != nil && text(path) != last }
                }
                #expect(try await user.server.log()["rotations"] >= 2)
                #expect(try await user.account("logout").exitCode == 0)
                try await keep.errors.wait(for: "\(path) was removed.")
                #expect(text(path) == nil)
                try await user.signIn()
                try await waitUntil("the file exists again") { text(path) != nil }
                try await keep.send(.terminate)
            }
            #expect(outcome.wasEnded(by: .terminate), "\(outcome)")
            #expect(text(path) == nil)
            #expect(try await user.server.log()["reuseAlarms"] == 0)
        }
    }

    @Test func `keep asks for a new sign-in once, on standard error and the desktop`() async throws {
        try await SignedInUser.run { user in
            let path = try folder(user.container) + "/token"
            let programs = user.container.path("programs")
            try FileManager.default.createDirectory(atPath: programs, withIntermediateDirectories: false)
            let script =
                "#!/bin/sh\nenv >\"\(programs)/environment\"\n"
                + "printf '%s|' \"$@\" >>\"\(programs)/told\"; echo >>\"\(programs)/told\"\n"
            let program = URL(filePath: programs + "/notify-send")
            try Data(script.utf8).write(to: program)
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program.path)
            let account = user.account.with("ACCOUNT_KEY", "/secret").with("CREDENTIALS_DIRECTORY", "/secret")
            let outcome = try await account.command(["keep", "--file", path])
                .run(by: "sh", "-c", "PATH=\"\(programs):$PATH\"; exec \"$@\"", "sh").whileRunning { keep in
                    try await keep.errors.wait(for: "has a token")
                    try await user.server.endSessions()
                    // Another command detects that the session has ended.
                    #expect(try await user.account("refresh").exitCode == 77)
                    try await keep.errors.wait(for: "Waiting.")
                    #expect(text(path) == nil)
                    try await waitUntil("someone was told") { text(programs + "/told")?.hasSuffix("\n") == true }
                    for _ in 1...3 { #expect(try await user.account("token").exitCode == 77) }
                    try await user.signIn()
                    try await waitUntil("the file exists again") { text(path) != nil }
                    try await keep.send(.terminate)
                }
            #expect(outcome.errors.matches(of: /ended this session/).count == 1, "\(outcome)")
            #expect(text(programs + "/environment")?.contains("/secret") == false)
            let told = try #require(text(programs + "/told"))
            #expect(told.count { $0 == "\n" } == 1, "\(told)")
            #expect(told.contains("ended this session") && told.contains("account login"))
        }
    }

    @Test func `After a kill, the next keep replaces the file of the earlier run`() async throws {
        try await SignedInUser.run { user in
            let folder = try folder(user.container)
            let path = folder + "/token"
            let keep = user.account.command(["keep", "--once", "--file", path])
            #expect(try await keep.run().exitCode == 0)
            #expect(try await user.account("refresh").exitCode == 0)
            let killed = try await keep.run(
                by: "strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=/^rename:signal=KILL:when=2"
            ).run()
            #expect(killed.wasEnded(by: .kill), "\(killed)")
            #expect(try await user.account("refresh").exitCode == 0)
            #expect(try await keep.run().exitCode == 0)
            #expect(text(path) == (try await user.account.storedToken()))
            #expect(try names(folder) == [".token.keep", "token"])
        }
    }

    @Test func `keep waits for a sign-in if no user is signed in`() async throws {
        try await Container.run { container in
            let keep = try Tool.account(in: container).command(["keep", "--session", "work"])
            let outcome = try await keep.whileRunning { keep in
                try await keep.errors.wait(for: "Waiting.")
                try await keep.send(.terminate)
            }
            let reason = "There is no session named work. Sign in with `account login --session work`."
            #expect(outcome.errors.contains(reason), "\(outcome)")
            #expect(outcome.wasEnded(by: .terminate), "\(outcome)")
        }
    }

    @Test func `keep --id-token removes the file when the ID token has expired`() async throws {
        try await SignedInUser.run { user in
            let path = try folder(user.container) + "/token"
            let outcome = try await user.account("keep", "--once", "--json", "--id-token", "--file", path)
            #expect(outcome.exitCode == 0, "\(outcome)")
            let token = try #require(text(path))
            #expect(token.split(separator: ".").count == 3)
            struct Document: Decodable { let file: String, session: String, expiresAt: String }
            let document = try outcome.document(Document.self)
            #expect(document.file == path && document.session == "default" && !outcome.output.contains(token))
            // The command does not write an expired ID token, and this service issues no ID token on a refresh.
            let clock = try await WrongClock(in: user.container)
            let month = 30 * 86_400
            try await user.server.setClock(ahead: Double(month))
            let ended = try await clock.run(
                user.account, ahead: month, ["keep", "--once", "--id-token", "--file", path])
            #expect(ended.exitCode == 77 && text(path) == nil, "\(ended)")
        }
    }

    @Test(.enabled(if: Privileges.isRoot))
    func `keep does not follow another user's link at the default folder`() async throws {
        try await SignedInUser.run { user in
            let account = user.account.with("ACCOUNT_HOME", nil)
            try await SignedInUser(server: user.server, container: user.container, account: account).signIn()
            let target = try folder(user.container)
            let link = user.container.path("temporary/account-\(geteuid())")
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
            let given = try await Command(words: ["chown", "-h", "\(Privileges.unprivilegedUser)", link]).run()
            #expect(given.exitCode == 0, "\(given)")
            let outcome = try await account("keep", "--once")
            #expect(outcome.exitCode == 65 && outcome.errors.contains(link), "\(outcome)")
            #expect(try names(target) == [])
            // Without the link, the command creates the folder.
            try FileManager.default.removeItem(atPath: link)
            #expect(try await account("keep", "--once").exitCode == 0)
            #expect(text(link + "/default.token") == (try await account.storedToken()))
        }
    }

    @Test func `keep rejects a file that it cannot maintain and explains the remedy`() async throws {
        try await SignedInUser.run(byToken: true) { user in
            let folder = try folder(user.container)
            try Data("mine, not yours\n".utf8).write(to: URL(filePath: folder + "/letter"))
            for (arguments, code, said) in [
                (["--file", folder + "/letter"], 64, "Move the file away"),
                (["--file", folder + "/none/token"], 64, "mkdir -m 700"),
                (["--once", "--id-token", "--file", folder + "/token"], 78, "--scope openid"),
            ] as [([String], Int32, String)] {
                let outcome = try await user.account.run(["keep"] + arguments)
                #expect(outcome.exitCode == code && outcome.errors.contains(said), "\(outcome)")
            }
            let given = try await user.account.with("ACCOUNT_TOKEN", "given")("keep", "--once")
            #expect(given.exitCode == 64 && given.errors.contains("Unset it"), "\(given)")
            #expect(text(folder + "/letter") == "mine, not yours\n")
            #expect(try names(folder) == ["letter"])
            let usual = try await user.account("keep", "--once")
            #expect(usual.exitCode == 0 && text(user.container.home + "/tmp/default.token") != nil, "\(usual)")
            #expect(try await user.account("keep", "--once", "--session", "work").exitCode == 77)
        }
    }
}
