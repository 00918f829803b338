@testable import EndToEndSupport
import Foundation
import Testing

/// Archives that cannot be opened, and containers that cannot be trusted.
@Suite(.queued)
struct UnreadableArchiveTests {
    /// An event that makes an archive unreadable.
    struct Accident: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// The stable code of the error.
        let reason: String
        /// A part of the error message.
        let word: String
        /// Applies the event to the container of a signed-in user.
        let happen: @Sendable (Container) throws -> Void

        init(
            _ name: String, _ reason: String, _ word: String, _ happen: @escaping @Sendable (Container) throws -> Void
        ) {
            (testDescription, self.reason, self.word, self.happen) = (name, reason, word, happen)
        }

        /// An event that changes the bytes of the archive.
        static func bytes(
            _ name: String, _ reason: String, _ change: @escaping @Sendable (inout [UInt8]) -> Void
        ) -> Accident {
            Accident(name, reason, "sign in again") { container in
                var bytes = try #require(try container.entry(container.archive)).bytes
                change(&bytes)
                try container.write(bytes, to: container.archive)
            }
        }
    }

    /// The start of the encrypted part in the property list.
    private static let magic = Array("ACCT\r\n\u{1a}\n".utf8)

    /// Events after which a new sign-in moves the archive aside.
    static let damages: [Accident] = [
        .bytes("Nothing left", "damaged") { $0 = [] },
        .bytes("Cut in half", "damaged") { $0.removeLast($0.count / 2) },
        .bytes("One byte short", "damaged") { $0.removeLast() },
        .bytes("One byte more", "damaged") { $0.append(0) },
        .bytes("Zeros after a power cut", "damaged") { $0 = [UInt8](repeating: 0, count: $0.count) },
        .bytes("2 MiB", "damaged") { $0 += [UInt8](repeating: 0, count: 2 << 20) },
        .bytes("Text", "damaged") { $0 = Array("username=alice".utf8) },
        .bytes("Another property list", "damaged") {
            $0 = Array(#"<plist version="1.0"><dict><key>name</key><string>x</string></dict></plist>"#.utf8)
        },
        .bytes("Another magic number", "damaged") { bytes in
            guard let range = bytes.firstRange(of: magic) else { return }
            bytes[range.lowerBound] ^= 1
        },
        .bytes("A bit of the ciphertext", "wrongKeyOrDamaged") { bytes in
            guard let range = bytes.firstRange(of: magic) else { return }
            bytes[range.lowerBound + 128 + 160 + 20] ^= 1
        },
        .bytes("A bit of the nonce", "wrongKeyOrDamaged") { bytes in
            guard let range = bytes.firstRange(of: magic) else { return }
            bytes[range.lowerBound + 96] ^= 1
        },
        Accident("Another key", "wrongKeyOrDamaged", "sign in again") { container in
            try container.write([UInt8](repeating: 7, count: 32), to: container.key)
        },
        Accident("No key", "noKey", "/Library/Keys/Account.key, or sign in again") { container in
            try FileManager.default.removeItem(atPath: container.key)
        },
    ]

    /// Events that the user must resolve first.
    static let obstacles: [Accident] = [
        Accident("A folder in its place", "inaccessible", "is not a file") { container in
            try FileManager.default.removeItem(atPath: container.archive)
            try FileManager.default.createDirectory(atPath: container.archive, withIntermediateDirectories: false)
        },
        Accident("A symbolic link in its place", "inaccessible", "is a symbolic link") { container in
            try FileManager.default.moveItem(atPath: container.archive, toPath: container.path("elsewhere"))
            try FileManager.default.createSymbolicLink(
                atPath: container.archive, withDestinationPath: container.path("elsewhere"))
        },
        Accident("A dangling symbolic link", "inaccessible", "is a symbolic link") { container in
            try FileManager.default.removeItem(atPath: container.archive)
            try FileManager.default.createSymbolicLink(atPath: container.archive, withDestinationPath: "/nonexistent")
        },
        Accident("A pipe in its place", "inaccessible", "is not a file") { container in
            try FileManager.default.removeItem(atPath: container.archive)
            guard mkfifo(container.archive, 0o600) == 0 else { throw Unexpected("no pipe: errno \(errno)") }
        },
        Accident("A key of 31 bytes", "damaged", "does not have 32 bytes") { container in
            try container.write([UInt8](repeating: 7, count: 31), to: container.key)
        },
        Accident("A key that others can read", "insecureContainer", "chmod 600") { container in
            try container.setPermissions(0o644, of: container.key)
        },
        Accident("A container that everyone can write to", "insecureContainer", "chmod go-w") { container in
            try container.setPermissions(0o777, of: container.home)
        },
        Accident("A folder of the archive that the group can write to", "insecureContainer", "chmod go-w") {
            container in
            try container.setPermissions(0o770, of: container.home + "/Documents")
        },
    ]

    private func expectUnreadable(_ accident: Accident, _ user: SignedInUser) async throws {
        // `doctor` briefly creates a file in each folder, which changes the folder's date.
        let before = try user.container.files()
        let token = try await user.account("token")
        #expect(token.exitCode == 65)
        #expect(token.output == "")

        for arguments in [["whoami"], ["whoami", "--offline"], ["whoami", "--verify"]] {
            let text = try await user.account.run(arguments)
            #expect(text.exitCode == 65, "\(text)")
            #expect(text.output == "")
            #expect(text.errors.contains(accident.word), "\(text)")
        }
        let json = try await user.account("whoami", "--json")
        #expect(json.exitCode == 65)
        #expect(json.output.contains("\"\(accident.reason)\""), "\(json)")
        #expect(try await user.account("status").exitCode == 65)
        let sessions = try await user.account("sessions")
        if accident.word == "chmod go-w" {
            // The command trusts nothing in the container, including the list of sessions.
            #expect(sessions.exitCode == 65)
            #expect(sessions.errors.contains(accident.word), "\(sessions)")
        } else {
            #expect(try json.document().state == "unreadable")
            #expect(sessions.output.contains("unreadable"))
        }
        #expect(try await user.account("refresh").exitCode == 65)
        #expect(try await user.account("doctor").exitCode == 78)

        #expect(try user.container.files() == before)
        #expect(try await user.server.log().requests == [])
    }

    @Test(arguments: damages)
    func `Keeps a damaged archive until the next sign-in moves it aside`(
        damage: Accident
    ) async throws {
        try await SignedInUser.run { user in
            try damage.happen(user.container)
            try await expectUnreadable(damage, user)

            let before = try #require(try user.container.entry(user.container.archive))
            let login = try await user.account(
                "login", "--username", "bob", "--password-stdin", input: ExampleServer.bobPassword + "\n")
            #expect(login.exitCode == 0, "\(login)")
            #expect(try await user.account("whoami", "--verify").output == "bob\n")
            let aside = try user.container.quarantine()
            #expect(aside.count == 1)
            let place = try #require(aside.first)
            let moved = try #require(try user.container.entry(place))
            #expect(moved.bytes == before.bytes)
            #expect(moved.permissions == 0o600)
            // The message names the file, so that the user can find the archive.
            #expect(login.errors.contains("Account.plist.unreadable-"), "\(login)")
        }
    }

    @Test(arguments: obstacles)
    func `Changes nothing and sends no password if the container needs repair`(
        obstacle: Accident
    ) async throws {
        try await SignedInUser.run { user in
            try obstacle.happen(user.container)
            try await expectUnreadable(obstacle, user)

            let before = try user.container.files()
            let login = try await user.account(
                "login", "--username", "bob", "--password-stdin", input: ExampleServer.bobPassword + "\n")
            #expect([65, 74, 78].contains(login.exitCode), "\(login)")
            #expect(login.output == "")
            #expect(login.errors.contains(obstacle.word), "\(login)")
            #expect(try user.container.files() == before)
            let log = try await user.server.log()
            #expect(log["/oauth/token"] == 0)
        }
    }

    @Test func `Archives moved aside in the same second get separate names`() async throws {
        try await SignedInUser.run { user in
            for text in ["one", "two", "three"] {
                try user.container.write(text.utf8, to: user.container.archive)
                try await user.signIn()
            }
            let contents = try user.container.quarantine().map { try user.container.entry($0)?.bytes }
            #expect(Set(contents) == [Array("one".utf8), Array("two".utf8), Array("three".utf8)])
        }
    }

    @Test func `Reports an archive of a later version and does not replace it`() async throws {
        try await SignedInUser.run { user in
            var bytes = try #require(try user.container.entry(user.container.archive)).bytes
            let start = try #require(bytes.firstRange(of: Self.magic)).lowerBound
            bytes[start + 8] = 2
            try user.container.write(bytes, to: user.container.archive)
            let outcome = try await user.account("whoami", "--json")
            #expect(outcome.exitCode == 65)
            #expect(try outcome.document().reason == "unsupportedVersion")
            #expect(outcome.errors.contains("update this program"))
            #expect(try user.container.entry(user.container.archive)?.bytes == bytes)
        }
    }

    @Test func `Rejects another user's container, even when run as root`() async throws {
        try await SignedInUser.run { user in
            var account = user.account
            if Privileges.isRoot {
                try FileManager.default.setAttributes([.ownerAccountID: 65_534], ofItemAtPath: user.container.home)
            } else {
                // Without root privileges, use a folder that root owns.
                account = account.with("ACCOUNT_HOME", "/usr")
            }
            let before = try user.container.contents()
            let outcome = try await account("whoami", "--json")
            #expect(outcome.exitCode == 65)
            #expect(outcome.output.contains("\"insecureContainer\""), "\(outcome)")
            #expect(outcome.errors.contains(Privileges.isRoot ? "belongs to nobody" : "belongs to root"))
            let login = try await account(
                "login", "--issuer", user.server.issuer, "--username", "bob", "--password-stdin",
                input: ExampleServer.bobPassword + "\n")
            #expect(login.exitCode == 65, "\(login)")
            #expect(try user.container.contents() == before)
            #expect(try await user.server.log().requests == [])
        }
    }

    @Test func `Reports the file with invalid settings and leaves the file unchanged`() async throws {
        try await SignedInUser.run { user in
            let settings = user.container.home + "/Library/Preferences/DefaultSession.plist"
            try user.container.write("nonsense".utf8, to: settings)
            let outcome = try await user.account("whoami")
            #expect(outcome.exitCode == 78)
            #expect(outcome.output == "")
            #expect(outcome.errors.contains("DefaultSession.plist"))
            #expect(try user.container.entry(settings)?.bytes == Array("nonsense".utf8))
            // With `--session`, the command does not read these settings.
            #expect(try await user.account("whoami", "--session", "default").output == "alice\n")
        }
    }

    @Test func `Invalid service settings keep the session, and doctor reports the file`() async throws {
        try await SignedInUser.run { user in
            let settings = user.container.home + "/Library/Preferences/Sessions/default/Service.plist"
            #expect(user.container.exists(settings))
            try user.container.write("nonsense".utf8, to: settings)
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
            #expect(try await user.account("refresh").exitCode == 0)
            let doctor = try await user.account("doctor")
            #expect(doctor.exitCode == 78)
            #expect(doctor.output.contains("Service.plist"), "\(doctor)")
            let logout = try await user.account("logout", "--json")
            #expect(logout.output.contains(#""revocation":"done""#), "\(logout)")
        }
    }

    @Test func `doctor finds wrong modes and leftover files, and --fix repairs both`() async throws {
        try await SignedInUser.run { user in
            #expect(try await user.account("doctor").exitCode == 0)
            try user.container.setPermissions(0o644, of: user.container.key)
            try user.container.setPermissions(0o777, of: user.container.home)
            try user.container.write(
                "half".utf8, to: user.container.home + "/Documents/.Account.plist.0123456789abcdef.tmp")
            let found = try await user.account("doctor")
            #expect(found.exitCode == 78)
            #expect(found.output.contains("chmod 600"))
            #expect(found.output.contains("left behind by a crash"))
            let fixed = try await user.account("doctor", "--fix")
            #expect(fixed.exitCode == 0, "\(fixed)")
            #expect(try await user.account("doctor").exitCode == 0)
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
        }
    }
}
