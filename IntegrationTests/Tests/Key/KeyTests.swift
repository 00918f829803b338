@testable import EndToEndSupport
import Foundation
import Testing

/// `account key`, which manages the keys of the archive. `AccountStoreKeysTests`,
/// `CommandKeyTests`, `EnvironmentKeyTests` and `UnlockCommandsTests` have the other failures.
@Suite(.queued)
struct KeyTests: KeyScenes {
    // MARK: The key file

    @Test func `Uses a key file by default, which key rotate replaces`() async throws {
        try await run { account, container in
            let before = try await keys(account)
            #expect(before.slots.map(\.kind) == ["file"])
            #expect(before.slots.map(\.opensNow) == [true])
            let key = try container.entry(container.key)?.bytes

            let outcome = try await account("key", "rotate")
            #expect(outcome.exitCode == 0)
            #expect(outcome.errors == "Replaced the key file and the key that encrypts the data.\n")
            #expect(try await keys(account).slots.map(\.id) != before.slots.map(\.id))
            #expect(try container.entry(container.key)?.bytes != key)
            for name in ["file", try await keys(account).slots[0].id] {
                let removal = try await account("key", "remove", name)
                #expect(removal.exitCode == 64)
                #expect(removal.errors.contains("the only key of the archive"))
            }
            #expect(try await account("key", "remove", "passphrase").exitCode == 64)
            #expect(try await account("whoami", "--offline").output == "alice\n")
            #expect(try await account("doctor").exitCode == 0)

            // There is no passphrase to lock and unlock the archive.
            for words in [["key", "lock"], ["key", "unlock"], ["key", "unlock", "--for=8w"]] {
                #expect(try await account.run(words).exitCode == 64)
            }
        }
    }

    // MARK: The environment

    @Test func `Reads the key from ACCOUNT_KEY or a systemd credential`() async throws {
        try await run { account, container in
            let variable = account.with("ACCOUNT_KEY", Self.key)
            #expect(try await variable("key", "add", "environment").exitCode == 0)
            #expect(try await variable("key", "remove", "file").exitCode == 0)
            #expect(!container.exists(container.key))
            #expect(try await variable("whoami", "--offline").output == "alice\n")

            let folder = container.path("credentials")
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            try container.write([UInt8](0..<32), to: folder + "/account.key")
            #expect(try await account.with("CREDENTIALS_DIRECTORY", folder)("whoami", "--offline").output == "alice\n")

            let without = try await account("whoami", "--offline")
            #expect(without.exitCode == 65)
            #expect(without.output == "")
            let logout = try await account("logout")
            #expect(logout.exitCode == 65)
            #expect(logout.errors.contains("Restore the key in ACCOUNT_KEY"), "\(logout)")
            #expect(container.exists(container.archive))
            let wrong = try await account.with("ACCOUNT_KEY", String(Self.key.reversed()))("whoami", "--offline")
            #expect([65, 78].contains(wrong.exitCode), "\(wrong)")
            #expect(try await variable("whoami", "--offline").output == "alice\n")
        }
    }

    @Test func `Does not replace a missing key with a weaker key`() async throws {
        try await run { account, container in
            let variable = account.with("ACCOUNT_KEY", Self.key)
            _ = try await variable("key", "add", "environment")
            _ = try await variable("key", "remove", "file")
            #expect(try await variable("logout", "--local").exitCode == 0)
            let before = try container.files()
            let outcome = try await logIn(account)
            #expect(outcome.exitCode == 78, "\(outcome)")
            #expect(outcome.errors.contains("ACCOUNT_KEY"))
            #expect(!container.exists(container.archive))
            #expect(!container.exists(container.key))
            #expect(try container.files().keys == before.keys)

            try await signIn(variable)
            #expect(try await keys(variable).slots.map(\.kind) == ["environment"])
        }
    }

    @Test func `key add and key remove work before the first sign-in`() async throws {
        try await Container.run { container in
            let account = try Tool.account(in: container).with("ACCOUNT_KEY", Self.key)
            #expect(try await account("key", "add", "environment").exitCode == 0)
            #expect(try await account("key", "remove", "file").exitCode == 0)
            #expect(try await account("key", "remove", "environment").exitCode == 64)
            try await signIn(account)
            #expect(try await keys(account).slots.map(\.kind) == ["environment"])
            #expect(!container.exists(container.key))
        }
    }

    // MARK: A command

    @Test func `A key command opens the archive until the command is unavailable`() async throws {
        try await run { account, container in
            try container.write(Array(Self.key.utf8), to: container.path("first"))
            try container.write(Array(String(repeating: "5a", count: 32).utf8), to: container.path("second"))
            for name in ["first", "second"] {
                let outcome = try await account("key", "add", "command", "--", "cat", container.path(name))
                #expect(outcome.exitCode == 0, "\(outcome)")
            }
            let slots = try await keys(account).slots
            #expect(slots.map(\.kind) == ["file", "command", "command"])
            #expect(try await account("key", "remove", "command").errors.contains("several keys"))
            #expect(try await account("key", "remove", String(slots[1].id.prefix(8))).exitCode == 0)
            #expect(try await account("key", "remove", "file").exitCode == 0)
            try FileManager.default.removeItem(atPath: container.path("first"))
            let left = try await keys(account)
            #expect(left.slots.map(\.id) == [slots[2].id])
            #expect(left.sources.map(\.command) == [["cat", container.path("second")]])
            #expect(try await account("whoami", "--offline").output == "alice\n")

            try FileManager.default.removeItem(atPath: container.path("second"))
            let without = try await account("whoami", "--offline")
            #expect(without.exitCode == 65)
            #expect(without.errors.contains("ended with 1"))
        }
    }

    @Test func `key add changes nothing if the command prints no key`() async throws {
        try await run { account, container in
            let before = try container.entry(container.archive)
            let outcome = try await account("key", "add", "command", "--", "echo", "password")
            #expect(outcome.exitCode == 65, "\(outcome)")
            #expect(try await account("key", "add", "command").exitCode == 64)
            #expect(try await account("key", "add", "file", "--", "cat").exitCode == 64)
            #expect(try await keys(account).slots.map(\.kind) == ["file"])
            #expect(try await keys(account).sources.map(\.kind) == ["file"])
            #expect(try container.entry(container.archive) == before)
        }
    }

    // MARK: A passphrase

    @Test func `Asks for the passphrase without echo, and only if needed`() async throws {
        try await run { account, container in
            try await lock(account, by: "correct horse")
            #expect(!container.exists(container.key))
            let session = try await Terminal.run(
                account.command(["whoami", "--offline"]), .wait("Passphrase: "), .silentNow, .type("correct house"),
                .enter, .wait("attempt 2 of 3): "), .type("correct horse"), .enter)
            #expect(session.exitCode == 0)
            #expect(session.echo)
            #expect(session.screen.hasSuffix("alice\r\n"))
            #expect(!session.screen.contains("hor"))

            // The terminal is not standard input.
            let redirected = try await Terminal.run(
                account.command(["whoami", "--offline"]).run(by: "sh", "-c", "exec \"$@\" < /dev/null", "sh"),
                .wait("Passphrase: "), .type("correct horse"), .enter)
            #expect(redirected.screen.hasSuffix("alice\r\n"), "\(redirected)")

            // These commands need no passphrase.
            let listed = try await Terminal.run(account.command(["sessions"]))
            #expect(listed.exitCode == 0)
            #expect(listed.screen.contains("default") && listed.screen.contains("locked"))
            #expect(!listed.screen.contains("Passphrase"))
            let chosen = try await Terminal.run(account.command(["switch", "default"]))
            #expect(chosen.exitCode == 0)
            #expect(chosen.screen.contains("locked by a passphrase") && chosen.screen.contains("account key unlock"))
            #expect(!chosen.screen.contains("not signed in"))

            let before = try container.entry(container.archive)
            let wrong = try await Terminal.run(
                account.command(["whoami", "--offline"]), .wait("Passphrase: "), .type("a"), .enter, .wait("2 of 3): "),
                .type("b"), .enter, .wait("3 of 3): "), .type("c"), .enter)
            #expect(wrong.exitCode == 65)
            #expect(wrong.screen.contains("You are not signed out"))
            let interrupted = try await Terminal.run(
                account.command(["whoami", "--offline"]), .wait("Passphrase: "), .controlC)
            #expect(interrupted.echo)
            #expect(interrupted.exitCode != 0)
            #expect(try container.entry(container.archive) == before)
        }
    }

    @Test func `login and logout leave a locked archive in place, and name the command that unlocks it`() async throws {
        try await run { account, container in
            try await lock(account, by: "correct horse")
            let before = try container.entry(container.archive)
            for arguments in [["logout"], ["logout", "--local"], ["logout", "--all", "--json"]] {
                let outcome = try await detached(account).run(arguments)
                #expect(outcome.exitCode == 65, "\(outcome)")
                #expect(outcome.errors.contains("account key unlock"), "\(outcome)")
                #expect(outcome.errors.contains("account logout --force"), "\(outcome)")
            }
            let login = try await logIn(detached(account))
            #expect(login.exitCode == 65, "\(login)")
            #expect(login.errors.contains("account key unlock"), "\(login)")
            #expect(try container.entry(container.archive) == before)
            #expect(try container.quarantine().isEmpty)

            let forced = try await runDetached(account, "logout", "--force")
            #expect(forced.exitCode == 0, "\(forced)")
            #expect(try container.quarantine().count == 1)
        }
    }

    @Test func `After unlock, the archive opens without a passphrase until lock`() async throws {
        try await run { account, container in
            try await lock(account, by: "correct horse")
            let locked = try await runDetached(account, "whoami", "--offline")
            #expect(locked.exitCode == 65)
            #expect(locked.errors.contains("unlock"))

            let unlocked = try await Terminal.run(
                account.command(["key", "unlock", "--for", "1h"]), .wait("Passphrase: "), .type("correct horse"), .enter
            )
            #expect(unlocked.exitCode == 0, "\(unlocked)")
            #expect(try await runDetached(account, "whoami", "--offline").output == "alice\n")
            #expect(try await runDetached(account, "status").exitCode == 0)
            #expect(try await keys(account).slots.map(\.opensNow) == [true])
            // The kernel deletes the key when the timeout expires.
            let slot = try await keys(account).slots[0].id
            let entries = try String(contentsOfFile: "/proc/keys", encoding: .utf8).split(separator: "\n")
            let entry = try #require(entries.first { $0.contains(slot) })
            #expect(entry.split(separator: " ").contains { $0 == "1h" || $0 == "59m" || $0 == "60m" }, "\(entry)")
            // The owner has all permissions, and a possessor has none (keyrings(7)).
            #expect(entry.split(separator: " ")[4] == "003f0000", "\(entry)")

            #expect(try await runDetached(account, "key", "lock").exitCode == 0)
            try expectNotInKeyring(slot)
            #expect(try await runDetached(account, "whoami", "--offline").exitCode == 65)
            #expect(try await runDetached(account, "lock").exitCode == 0, "locking it again is not an error")
        }
    }

    private func expectNotInKeyring(_ slot: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        // The kernel still lists a deleted key for a moment, marked as invalid.
        let entries = try String(contentsOfFile: "/proc/keys", encoding: .utf8).split(separator: "\n")
        let forgotten = entries.filter { $0.contains(slot) }.map { $0.split(separator: " ")[1] }
        #expect(forgotten.allSatisfy { $0.hasSuffix("i") }, "\(forgotten)", sourceLocation: sourceLocation)
    }

    @Test func `key rotate changes the passphrase, and logout removes an unlocked key`() async throws {
        try await run { account, container in
            try await lock(account, by: "correct horse")
            let rotated = try await Terminal.run(
                account.command(["key", "rotate"]), .wait("Passphrase: "), .type("correct horse"), .enter,
                .wait("New passphrase: "), .type("battery"), .enter, .wait("Confirm"), .type("stapel"), .enter,
                .wait("don't match"), .wait("New passphrase: "), .type("staple"), .enter, .wait("Confirm"),
                .type("staple"), .enter)
            #expect(rotated.exitCode == 0, "\(rotated)")
            let typed = ["correct", "horse", "battery", "stap"]
            #expect(!typed.contains { rotated.screen.contains($0) }, "\(rotated)")
            let unlocked = try await Terminal.run(
                account.command(["unlock"]), .wait("Passphrase: "), .type("staple"), .enter)
            #expect(unlocked.screen.contains("Unlocked for 8h."))
            let slot = try await keys(account).slots[0].id
            #expect(try await runDetached(account, "logout", "--local").exitCode == 0)
            try expectNotInKeyring(slot)

            // The next archive requires a passphrase, too, and there is no terminal for the prompt.
            let outcome = try await logIn(detached(account))
            #expect(outcome.exitCode == 64)
            #expect(!container.exists(container.archive))
            #expect(!container.exists(container.key))
        }
    }
}
