@testable import EndToEndSupport
import Foundation
import Testing

/// Folders that others can write to, and folders of other users. `FolderTrustTests` tests which folders AccountKit trusts.
@Suite(.queued)
struct UntrustedFolderTests {
    @Test func `Refuses settings below a folder that others can write to`() async throws {
        try await SignedInUser.run { user in
            for place in ["/Library", "/Library/Preferences", "/Library/Preferences/Sessions"] {
                let folder = user.container.home + place
                try user.container.setPermissions(0o777, of: folder)
                // The rules are not in the folder of the sessions.
                let helper = place.hasSuffix("Sessions") ? [] : [["git-credential", "get"]]
                for words in [["whoami", "--session", "default"], ["whoami"]] + helper {
                    let outcome = try await user.account.run(words, input: "protocol=https\nhost=git.example.com\n\n")
                    #expect(outcome.exitCode == 65, "\(outcome)")
                    #expect(outcome.output == "")
                    #expect(outcome.errors.contains("chmod go-w \(folder)`"), "\(outcome)")
                }
                try user.container.setPermissions(0o700, of: folder)
            }
        }
    }

    @Test(.enabled(if: Privileges.isRoot, "only root can run in another user's container"))
    func `As root, creates nothing in another user's container`() async throws {
        try await SignedInUser.run { user in
            try FileManager.default.removeItem(atPath: user.container.home + "/Library/Preferences")
            let owner = try await user.account.unprivileged(in: user.container)
            let before = try user.container.contents()
            let login = ["login", "--session", "new", "--issuer", user.server.issuer, "--username", "bob"]
            for words in [["rule", "add", "https://git.example.com"], ["refresh"], login + ["--password-stdin"]] {
                let outcome = try await user.account.run(words, input: ExampleServer.bobPassword + "\n")
                #expect(outcome.exitCode == 65, "\(outcome)")
                #expect(outcome.errors.contains("belongs to nobody"), "\(outcome)")
                #expect(try user.container.contents() == before)
            }
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
