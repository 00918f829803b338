@testable import EndToEndSupport
import Foundation
import Testing

/// Archives that cannot be opened, and containers that cannot be trusted: each command reports the reason and changes
/// nothing. The tables are in `TamperingTests`, `ArchivePropertyListTests`, `KeyFileTests` and `FolderTrustTests`; the
/// rules in `UnreadableArchiveTests` of AccountKit.
@Suite(.queued)
struct UnreadableArchiveTests {
    /// The start of the encrypted part in the property list.
    private static let magic = Array("ACCT\r\n\u{1a}\n".utf8)

    /// Expects that each command reports an unreadable archive, and sends no request.
    private func expectUnreadable(_ user: SignedInUser, _ reason: String, _ word: String) async throws {
        // `doctor` briefly creates a file in each folder, which changes the folder's date.
        let before = try user.container.files()
        try await user.server.clearLog()
        for arguments in [["whoami", "--offline"], ["whoami", "--verify"], ["token"], ["status"], ["refresh"]] {
            let outcome = try await user.account.run(arguments)
            #expect(outcome.exitCode == 65, "\(outcome)")
            if arguments[0] == "status" { continue }
            #expect(outcome.output == "")
            if arguments[0] == "whoami" { #expect(outcome.errors.contains(word), "\(outcome)") }
        }
        let json = try await user.account("whoami", "--json")
        #expect(json.exitCode == 65)
        #expect(json.output.contains("\"\(reason)\""), "\(json)")
        let sessions = try await user.account("sessions")
        // In a folder that others can change, the command does not even trust the list of sessions.
        #expect(sessions.output.contains("unreadable") || sessions.errors.contains("chmod go-w"), "\(sessions)")
        #expect(try await user.account("doctor").exitCode == 78)
        #expect(try user.container.files() == before)
        #expect(try await user.server.log().requests == [])
    }

    @Test func `Keeps a damaged archive until the next sign-in moves it aside`() async throws {
        try await SignedInUser.run { user in
            let whole = try #require(try user.container.entry(user.container.archive)).bytes
            var later = whole
            let start = try #require(later.firstRange(of: Self.magic)).lowerBound
            later[start + 8] = 2
            try user.container.write(later, to: user.container.archive)
            let outcome = try await user.account("whoami", "--json")
            #expect(outcome.exitCode == 65)
            #expect(try outcome.document().reason == "unsupportedVersion")
            #expect(outcome.errors.contains("update this program"))
            #expect(try user.container.entry(user.container.archive)?.bytes == later)

            try user.container.write(whole.prefix(whole.count / 2), to: user.container.archive)
            try await expectUnreadable(user, "damaged", "sign in again")
            let before = try #require(try user.container.entry(user.container.archive))
            let login = try await user.account(
                "login", "--username", "bob", "--password-stdin", input: ExampleServer.bobPassword + "\n")
            #expect(login.exitCode == 0, "\(login)")
            #expect(try await user.account("whoami", "--verify").output == "bob\n")
            let aside = try user.container.quarantine()
            #expect(aside.count == 1)
            let copy = try #require(aside.first)
            let moved = try #require(try user.container.entry(copy))
            #expect(moved.bytes == before.bytes)
            #expect(moved.permissions == 0o600)
            // The message names the file, so that the user can find the archive.
            #expect(login.errors.contains("Account.plist.unreadable-"), "\(login)")
        }
    }

    @Test func `Keeps an archive whose key is missing, and names the key file`() async throws {
        try await SignedInUser.run { user in
            try FileManager.default.removeItem(atPath: user.container.key)
            try await expectUnreadable(user, "noKey", "/Library/Keys/Account.key, or sign in again")
        }
    }

    @Test func `Changes nothing and sends no password if the container needs repair`() async throws {
        try await SignedInUser.run { user in
            func expectRefusal(_ reason: String, _ word: String) async throws {
                try await expectUnreadable(user, reason, word)
                let before = try user.container.files()
                let login = try await user.account(
                    "login", "--username", "bob", "--password-stdin", input: ExampleServer.bobPassword + "\n")
                #expect([65, 74, 78].contains(login.exitCode), "\(login)")
                #expect(login.output == "")
                #expect(login.errors.contains(word), "\(login)")
                #expect(try user.container.files() == before)
                #expect(try await user.server.log()["/oauth/token"] == 0)
            }
            try user.container.setPermissions(0o777, of: user.container.home)
            try await expectRefusal("insecureContainer", "chmod go-w")
            try user.container.setPermissions(0o700, of: user.container.home)

            try FileManager.default.moveItem(atPath: user.container.archive, toPath: user.container.path("elsewhere"))
            try FileManager.default.createSymbolicLink(
                atPath: user.container.archive, withDestinationPath: user.container.path("elsewhere"))
            try await expectRefusal("inaccessible", "is a symbolic link")
        }
    }

    @Test func `Reports each file with invalid settings and leaves the file unchanged`() async throws {
        try await SignedInUser.run { user in
            let preferences = user.container.home + "/Library/Preferences/"
            try user.container.write("nonsense".utf8, to: preferences + "DefaultSession.plist")
            let outcome = try await user.account("whoami")
            #expect(outcome.exitCode == 78)
            #expect(outcome.output == "")
            #expect(outcome.errors.contains("DefaultSession.plist"))
            #expect(try user.container.entry(preferences + "DefaultSession.plist")?.bytes == Array("nonsense".utf8))
            // With `--session`, the command does not read these settings.
            #expect(try await user.account("whoami", "--session", "default").output == "alice\n")
            try FileManager.default.removeItem(atPath: preferences + "DefaultSession.plist")

            // Invalid settings of the service keep the session.
            let service = preferences + "Sessions/default/Service.plist"
            #expect(user.container.exists(service))
            try user.container.write("nonsense".utf8, to: service)
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
            #expect(try await user.account("refresh").exitCode == 0)
            let doctor = try await user.account("doctor")
            #expect(doctor.exitCode == 78)
            #expect(doctor.output.contains("Service.plist"), "\(doctor)")
            let logout = try await user.account("logout", "--json")
            #expect(logout.output.contains(#""revocation":"done""#), "\(logout)")
        }
    }
}
