@testable import EndToEndSupport
import Foundation
import Testing

/// Folders that others can write to, and folders of other users.
@Suite(.queued)
struct UntrustedFolderTests {
    static let readers = [
        ["whoami"], ["whoami", "--session", "default"], ["token", "--session", "default"], ["status"], ["sessions"],
        ["rule", "list"], ["rule", "which", "https://git.example.com"], ["git-credential", "get"],
    ]

    @Test(arguments: ["/Library", "/Library/Preferences"], readers)
    func `Refuses settings below a folder that others can write to`(place: String, words: [String]) async throws {
        try await SignedInUser.run { user in
            let folder = user.container.home + place
            try user.container.setPermissions(0o777, of: folder)
            let outcome = try await user.account.run(words, input: "protocol=https\nhost=git.example.com\n\n")
            #expect(outcome.exitCode == 65, "\(outcome)")
            #expect(outcome.output == "")
            #expect(outcome.errors.contains("other users can write to \(folder)"), "\(outcome)")
            #expect(outcome.errors.contains("chmod go-w \(folder)`"), "\(outcome)")
        }
    }

    @Test func `Refuses a session's settings in a folder that others can write to`() async throws {
        try await SignedInUser.run { user in
            let folder = user.container.home + "/Library/Preferences/Sessions"
            try user.container.setPermissions(0o777, of: folder)
            for words in [["whoami"], ["whoami", "--session", "default"]] {
                let outcome = try await user.account.run(words)
                #expect(outcome.exitCode == 65, "\(outcome)")
                #expect(outcome.errors.contains("chmod go-w \(folder)`"), "\(outcome)")
            }
        }
    }

    static let writers = [
        ["rule", "add", "https://git.example.com"], ["switch", "work"], ["login", "--session", "new"],
        ["keep", "--once", "--session", "default"], ["key", "add", "environment"], ["logout"], ["refresh"],
    ]

    @Test(.enabled(if: Privileges.isRoot, "only root can run in another user's container"), arguments: writers)
    func `As root, creates nothing in another user's container`(words: [String]) async throws {
        try await SignedInUser.run { user in
            try FileManager.default.removeItem(atPath: user.container.home + "/Library/Preferences")
            let owner = try await user.account.unprivileged(in: user.container)
            let before = try user.container.contents()
            let options =
                words[0] == "login" ? ["--issuer", user.server.issuer, "--username", "bob", "--password-stdin"] : []
            let outcome = try await user.account.run(words + options, input: ExampleServer.bobPassword + "\n")
            #expect(outcome.exitCode == 65, "\(outcome)")
            #expect(outcome.errors.contains("belongs to nobody"), "\(outcome)")
            #expect(try user.container.contents() == before)
            let added = try await owner("rule", "add", "https://git.example.com")
            #expect(added.exitCode == 0, "\(added)")
            #expect(try await owner("whoami").output == "alice\n")
        }
    }

    @Test(.enabled(if: Privileges.isRoot, "only root can run in another user's home directory"))
    func `As root, creates no folder in another user's home directory`() async throws {
        try await Container.run { container in
            let root = try Tool.account(in: container).with("ACCOUNT_HOME", nil)
            // The environment of `sudo` if `sudo` does not change HOME.
            let owner = try await root.unprivileged(in: container)
            for words in [["rule", "add", "https://git.example.com"], ["switch", "default"]] {
                let outcome = try await root.run(words)
                #expect(outcome.exitCode == 65, "\(outcome)")
                #expect(outcome.errors.contains("\(container.root)/user belongs to nobody"), "\(outcome)")
                #expect(try FileManager.default.contentsOfDirectory(atPath: container.root + "/user").isEmpty)
            }
            #expect(try await owner("rule", "add", "https://git.example.com").exitCode == 0)
        }
    }
}
