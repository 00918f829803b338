@testable import EndToEndSupport
import Foundation
import Testing

/// `account doctor`, its findings and its repairs.
@Suite(.queued)
struct DoctorTests {
    /// The output of `doctor --json`.
    struct Report: Decodable {
        struct Finding: Decodable {
            let problem: String
            let advice: String
            let isFixed: Bool
        }

        let isWell: Bool
        let findings: [Finding]
        let notes: [String]
    }

    private func report(_ account: Tool, _ arguments: String...) async throws -> (report: Report, outcome: Outcome) {
        let outcome = try await account.run(["doctor", "--json"] + arguments)
        return (try JSONDecoder().decode(Report.self, from: Data(outcome.output.utf8)), outcome)
    }

    @Test func `doctor finds no problems after a sign-in`() async throws {
        try await SignedInUser.run { user in
            let (report, outcome) = try await report(user.account)
            #expect(outcome.exitCode == 0)
            #expect(report.isWell)
            #expect(report.findings.isEmpty)
            // The notes depend on the programs that are installed on this machine.
            #expect(report.notes.allSatisfy { $0.contains("do not ask this tool for tokens") }, "\(outcome)")
        }
    }

    static let mendable: [(damage: String, problem: String)] = [
        ("chmod 755 $HOME_OF_ACCOUNT", "other users can read"), ("chmod 755 $KEYS", "other users can read"),
        ("chmod 775 $KEYS", "other users can write to"),
        ("chmod 644 $KEYS/Account.key", "other users can read or change"),
        ("chmod 644 $DOCUMENTS/Account.plist", "other users can read or change"),
        ("touch $DOCUMENTS/.Account.plist.0123456789abcdef.tmp", "left behind by a crash"),
        ("touch $KEYS/Account.key.0123456789abcdef.tmp", "left behind by a crash"),
        (
            "mkdir -m 700 $DOCUMENTS/Clients && touch $DOCUMENTS/Clients/.Client-0.plist.0123456789abcdef.tmp",
            "left behind by a crash"
        ),
        (
            "mkdir -m 700 $KEYS/Clients && touch $KEYS/Clients/Registrations.key.0123456789abcdef.tmp",
            "left behind by a crash"
        ),
        ("cp -p $KEYS/Account.key $KEYS/Account.key.next", "replacement of its key"),
        ("cp -p $KEYS/Account.key $KEYS/Account.key.old", "replacement of its key"),
        ("chmod 777 $HOME_OF_ACCOUNT/Library", "other users can write to"),
        ("chmod 777 $HOME_OF_ACCOUNT/Library/Preferences", "other users can write to"),
        ("chmod 777 $HOME_OF_ACCOUNT/Library/Preferences/Sessions/default", "other users can write to"),
        ("echo nonsense >$DOCUMENTS/Incoming.plist", "Incoming.plist"),
        ("echo nonsense >$DOCUMENTS/Revocation-3.plist", "Revocation-3.plist"),
        ("echo nonsense >$DOCUMENTS/Offline-2.plist", "Offline-2.plist"),
        ("head -c 2000000 /dev/zero >$DOCUMENTS/Refresh.plist", "Refresh.plist"),
    ]

    @Test(arguments: mendable)
    func `doctor --fix repairs damage and keeps the session`(damage: String, problem: String) async throws {
        try await SignedInUser.run { user in
            let home = user.container.home
            let places = [
                "HOME_OF_ACCOUNT": home, "KEYS": home + "/Library/Keys", "DOCUMENTS": home + "/Documents",
            ]
            let damaged = try await Command(words: ["sh", "-ec", damage], environment: places).run()
            #expect(damaged.exitCode == 0, "\(damaged)")

            let found = try await report(user.account)
            #expect(found.outcome.exitCode == 78)
            // If `doctor` does not trust the path, it does not open the archive. This adds a second finding.
            #expect((1...2).contains(found.report.findings.count), "\(found.outcome)")
            #expect(found.report.findings.first?.problem.contains(problem) == true, "\(found.outcome)")
            #expect(found.report.findings.allSatisfy { !$0.isFixed })
            let fixed = try await report(user.account, "--fix")
            #expect(fixed.outcome.exitCode == 0, "\(fixed.outcome)")
            #expect(fixed.report.findings.map(\.isFixed) == [true], "\(fixed.outcome)")
            let after = try await report(user.account)
            #expect(after.outcome.exitCode == 0, "\(after.outcome)")
            // `doctor` moves damaged files aside and names the copies.
            let isMoved = damage.contains(" >")
            #expect(after.report.notes.contains { $0.contains(".plist.unreadable") } == isMoved, "\(after.outcome)")
            #expect(try await user.account("whoami", "--offline").output == "alice\n")
        }
    }

    @Test func `doctor --fix resets a default session that no longer exists`() async throws {
        try await SignedInUser.run { user in
            try await user.signIn(session: "work")
            #expect(try await user.account("switch", "work").exitCode == 0)
            try FileManager.default.removeItem(atPath: user.container.home + "/Documents/Sessions/work")
            let found = try await report(user.account)
            #expect(found.outcome.exitCode == 78)
            #expect(found.report.findings.map(\.problem) == ["the default session work does not exist"])
            #expect(try await report(user.account, "--fix").outcome.exitCode == 0)
            #expect(try await user.account("whoami", "--offline").output == "alice\n")
        }
    }

    @Test(arguments: [".git", ".stfolder", ".dropbox"])
    func `doctor finds a key file in a synced or versioned folder`(marker: String) async throws {
        try await SignedInUser.run { user in
            #expect(FileManager.default.createFile(atPath: user.container.home + "/Library/" + marker, contents: nil))
            let found = try await report(user.account, "--fix")
            #expect(found.outcome.exitCode == 78)
            #expect(found.report.findings.count == 1)
            #expect(found.report.findings[0].problem.contains("copies elsewhere"))
            // Other programs may copy the archive if they do not copy the key.
            try FileManager.default.moveItem(
                atPath: user.container.home + "/Library/" + marker,
                toPath: user.container.home + "/Documents/" + marker)
            #expect(try await report(user.account).outcome.exitCode == 0)
        }
    }

    @Test func `doctor finds a non-sticky parent folder that others can write to`() async throws {
        try await SignedInUser.run { user in
            try user.container.setPermissions(0o777, of: user.container.root)
            let found = try await report(user.account)
            #expect(found.outcome.exitCode == 78)
            #expect(
                found.report.findings.allSatisfy {
                    $0.problem.contains("other users can write to \(user.container.root)")
                })
            try user.container.setPermissions(0o1777, of: user.container.root)
            #expect(try await report(user.account).outcome.exitCode == 0)
        }
    }

    @Test func `doctor compares this machine's clock with the service's clock`() async throws {
        try await SignedInUser.run { user in
            for (seconds, word) in [(-31_536_000.0, "ahead of"), (31_536_000.0, "behind")] {
                try await user.server.setClock(ahead: seconds)
                let found = try await report(user.account)
                #expect(found.outcome.exitCode == 78, "\(found.outcome)")
                #expect(found.report.findings.count == 1, "\(found.outcome)")
                let problem = found.report.findings.first?.problem ?? ""
                #expect(problem.contains("clock is 36") && problem.contains(word), "\(found.outcome)")
            }
        }
    }

    @Test func `Offline, doctor checks everything except the clock`() async throws {
        try await SignedInUser.runWithoutServer { account, _, _ in
            let found = try await report(account)
            #expect(found.outcome.exitCode == 0)
            #expect(found.report.notes.contains { $0.contains("clock cannot be compared") }, "\(found.outcome)")
        }
    }

    @Test func `doctor reports memory that cannot be locked, and whoami still works`() async throws {
        try await SignedInUser.run { user in
            func limited(_ arguments: [String]) async throws -> Outcome {
                // Dropping the capability makes the limit apply to root, too.
                try await user.account.command(arguments).run(
                    by: "setpriv", "--inh-caps=-ipc_lock", "--bounding-set=-ipc_lock", "prlimit", "--memlock=0"
                ).run()
            }
            let outcome = try await limited(["doctor"])
            #expect(outcome.exitCode == 78)
            #expect(outcome.output.contains("memory cannot be locked"))
            #expect(try await limited(["whoami", "--offline"]).output == "alice\n")
        }
    }

    @Test func `doctor --fix reports and keeps leftover files that do not open`() async throws {
        try await SignedInUser.run { user in
            let names = ["Revocation-1.plist", "Offline-1.plist"]
            // An archive of this session, which `doctor` cannot open as another kind of file.
            let archive = try #require(try user.container.entry(user.container.archive)?.bytes)
            for name in names { try user.container.write(archive, to: user.container.home + "/Documents/" + name) }
            let found = try await report(user.account, "--fix")
            #expect(found.outcome.exitCode == 78)
            for name in names {
                #expect(found.report.findings.contains { $0.problem.contains(name) }, "\(found.outcome)")
                #expect(try user.container.entry(user.container.home + "/Documents/" + name)?.bytes == archive)
            }
        }
    }

    @Test(arguments: [
        ("mount --bind '$' '$'; mount -o remount,bind,ro '$'", "read-only", "`sudo mount -o remount,rw "),
        (
            "mount -t tmpfs -o size=256k,mode=700 none '$'; cp -a '$.copy/.' '$'; head -c 1M /dev/zero >'$/filler' || true",
            "no space", "`df -h "
        ),
    ])
    func `doctor finds a read-only folder and a full disk`(
        mounts: String, problem: String, advice: String
    ) async throws {
        try await SignedInUser.run { user in
            let home = user.container.home
            let copied = try await Command(words: ["cp", "-a", home, home + ".copy"]).run()
            #expect(copied.exitCode == 0, "\(copied)")
            // One fault produces one finding, regardless of the number of affected folders and sessions.
            try await user.signIn(session: "work")
            let doctor = user.account.command(["doctor", "--json"])
                .run(inMountsOfItsOwn: mounts.replacing("$", with: home))
            let outcome = try await doctor.run()
            let found = try JSONDecoder().decode(Report.self, from: Data(outcome.output.utf8))
            #expect(outcome.exitCode == 78 && !found.isWell, "\(outcome)")
            #expect(found.findings.count == 1, "\(outcome)")
            #expect(found.findings.first?.problem.contains(problem) == true, "\(outcome)")
            #expect(found.findings.first?.problem.contains(home) == true, "\(outcome)")
            #expect(found.findings.first?.advice.contains(advice) == true, "\(outcome)")
            let refresh = try await user.account.command(["refresh"])
                .run(inMountsOfItsOwn: mounts.replacing("$", with: home)).run()
            #expect(refresh.exitCode == 74, "fails for the reason that doctor reports: \(refresh)")
            #expect(try await report(user.account).outcome.exitCode == 0)
        }
    }

    @Test func `doctor finds a read-only folder before the first sign-in`() async throws {
        try await Container.run { container in
            let account = try Tool.account(in: container)
            let mounts = "mount --bind '$' '$'; mount -o remount,bind,ro '$'".replacing("$", with: container.root)
            let outcome = try await account.command(["doctor"]).run(inMountsOfItsOwn: mounts).run()
            #expect(outcome.exitCode == 78 && outcome.output.contains("read-only"), "\(outcome)")
            #expect(try await account("doctor").exitCode == 0)
            #expect(!container.exists(container.home))
        }
    }

    @Test func `doctor finds a folder that its owner may not write to`() async throws {
        try await SignedInUser.run { user in
            let account = try await user.account.unprivileged(in: user.container)
            let documents = user.container.home + "/Documents"
            try user.container.setPermissions(0o500, of: documents)
            let found = try await report(account)
            #expect(found.outcome.exitCode == 78 && found.report.findings.count == 1, "\(found.outcome)")
            #expect(found.report.findings.first?.advice.contains("`chmod u+rwx \(documents)`") == true)
            try user.container.setPermissions(0o700, of: documents)
            #expect(try await report(account).outcome.exitCode == 0)
        }
    }

    @Test func `doctor shows problems first, and notes last under a heading`() async throws {
        try await SignedInUser.runWithoutServer { account, container, _ in
            try container.setPermissions(0o644, of: container.archive)
            let outcome = try await account("doctor")
            #expect(outcome.exitCode == 78, "\(outcome)")
            let lines = outcome.output.split(separator: "\n")
            #expect(
                lines.first?.hasPrefix("problem: other users can read or change \(container.archive)") == true,
                "\(outcome)")
            let heading = try #require(lines.firstIndex(of: "Notes:"), "\(outcome)")
            #expect(lines[..<heading].allSatisfy { $0.hasPrefix("problem: ") }, "\(outcome)")
            #expect(lines.last == "1 problem. Run `account doctor --fix` to repair it.", "\(outcome)")
            let notes = lines[(heading + 1)...].dropLast()
            #expect(!notes.isEmpty && notes.allSatisfy { $0.hasPrefix("  ") }, "\(outcome)")
            #expect(notes.contains { $0.contains("ACCOUNT_HOME=") }, "\(outcome)")
            try container.setPermissions(0o600, of: container.archive)
            let well = try await account("doctor")
            #expect(well.exitCode == 0 && well.output.hasPrefix("No problems found"), "\(well)")
        }
    }

    static let faults = [
        "chmod 755 $HOME_OF_ACCOUNT", "chmod 644 $KEYS/Account.key", "chmod 644 $DOCUMENTS/Account.plist",
        "touch $DOCUMENTS/.Account.plist.0123456789abcdef.tmp", "cp -p $KEYS/Account.key $KEYS/Account.key.next",
        "touch $HOME_OF_ACCOUNT/Library/.git", "chmod 777 $HOME_OF_ACCOUNT",
    ]

    @Test(arguments: faults)
    func `doctor suggests one command for each fault`(damage: String) async throws {
        try await SignedInUser.run { user in
            try await user.signIn(session: "work")
            let home = user.container.home
            let places = [
                "HOME_OF_ACCOUNT": home, "KEYS": home + "/Library/Keys", "DOCUMENTS": home + "/Documents",
            ]
            let damaged = try await Command(words: ["sh", "-ec", damage], environment: places).run()
            #expect(damaged.exitCode == 0, "\(damaged)")
            let found = try await report(user.account)
            #expect(found.report.findings.count == (damage.hasSuffix(".git") ? 2 : 1), "\(found.outcome)")
            for finding in found.report.findings {
                #expect(finding.advice.matches(of: /`[^`]+`/).count == 1, "\(finding)")
                #expect(finding.problem.matches(of: /`/).isEmpty, "\(finding)")
            }
        }
    }

    @Test func `doctor --fix keeps an archive that cannot be opened and gives advice`() async throws {
        try await SignedInUser.run { user in
            try FileManager.default.removeItem(atPath: user.container.key)
            let archive = try user.container.entry(user.container.archive)
            let found = try await report(user.account, "--fix")
            #expect(found.outcome.exitCode == 78)
            #expect(found.report.findings.count == 1)
            #expect(found.report.findings[0].problem.contains("restore the key at "))
            #expect(try user.container.entry(user.container.archive) == archive)
        }
    }
}
