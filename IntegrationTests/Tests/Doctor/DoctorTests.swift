@testable import EndToEndSupport
import Foundation
import Testing

/// `account doctor`: its report, its exit code and its repairs. `ContainerInspectionTests` has the table of damages.
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

    @Test func `doctor shows problems first, and notes last under a heading`() async throws {
        try await SignedInUser.runWithoutServer { account, container, _ in
            let offline = try await report(account)
            #expect(offline.outcome.exitCode == 0 && offline.report.isWell && offline.report.findings.isEmpty)
            #expect(offline.report.notes.contains { $0.contains("clock cannot be compared") }, "\(offline.outcome)")

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
            #expect(try await account("doctor", "--fix").exitCode == 0)
            let well = try await account("doctor")
            #expect(well.exitCode == 0 && well.output.hasPrefix("No problems found"), "\(well)")
        }
    }

    @Test func `doctor --fix repairs a session without losing data`() async throws {
        try await SignedInUser.run { user in
            let documents = user.container.home + "/Documents/"
            func expectRepair(of problem: String, isMoved: Bool) async throws {
                let found = try await report(user.account)
                #expect(found.outcome.exitCode == 78)
                #expect(found.report.findings.contains { $0.problem.contains(problem) }, "\(found.outcome)")
                #expect(found.report.findings.allSatisfy { !$0.isFixed })
                let fixed = try await report(user.account, "--fix")
                #expect(fixed.outcome.exitCode == 0, "\(fixed.outcome)")
                #expect(fixed.report.findings.allSatisfy { $0.isFixed }, "\(fixed.outcome)")
                // `doctor` moves damaged files aside and names the copies.
                let after = try await report(user.account)
                #expect(after.outcome.exitCode == 0, "\(after.outcome)")
                #expect(after.report.notes.contains { $0.contains(".plist.unreadable") } == isMoved)
                #expect(try await user.account("whoami", "--offline").output == "alice\n")
            }
            try await user.signIn(session: "work")
            #expect(try await user.account("switch", "work").exitCode == 0)
            try FileManager.default.removeItem(atPath: documents + "Sessions/work")
            try await expectRepair(of: "the default session work does not exist", isMoved: false)

            try user.container.write("nonsense".utf8, to: documents + "Revocation-3.plist")
            try await expectRepair(of: "Revocation-3.plist", isMoved: true)

            // An archive of this session, which `doctor` cannot open as another kind of file, is reported and kept. So is
            // an archive without its key.
            let archive = try #require(try user.container.entry(user.container.archive)).bytes
            try user.container.write(archive, to: documents + "Revocation-1.plist")
            let unopened = try await report(user.account, "--fix")
            #expect(unopened.outcome.exitCode == 78)
            #expect(unopened.report.findings.contains { $0.problem.contains("Revocation-1.plist") })
            #expect(try user.container.entry(documents + "Revocation-1.plist")?.bytes == archive)
            try FileManager.default.removeItem(atPath: documents + "Revocation-1.plist")
            try FileManager.default.removeItem(atPath: user.container.key)
            let locked = try await report(user.account, "--fix")
            #expect(locked.outcome.exitCode == 78)
            #expect(locked.report.findings.contains { $0.problem.contains("restore the key at ") }, "\(locked.outcome)")
            #expect(try user.container.entry(user.container.archive)?.bytes == archive)
        }
    }

    @Test func `doctor reports a wrong clock, and memory that cannot be locked`() async throws {
        try await SignedInUser.run { user in
            for (seconds, word) in [(-31_536_000.0, "ahead of"), (31_536_000.0, "behind")] {
                try await user.server.setClock(ahead: seconds)
                let found = try await report(user.account)
                #expect(found.outcome.exitCode == 78, "\(found.outcome)")
                #expect(found.report.findings.count == 1, "\(found.outcome)")
                let problem = found.report.findings.first?.problem ?? ""
                #expect(problem.contains("clock is 36") && problem.contains(word), "\(found.outcome)")
            }
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

    private static let readOnly = "mount --bind '$' '$'; mount -o remount,bind,ro '$'"
    private static let full =
        "mount -t tmpfs -o size=256k,mode=700 none '$'; cp -a '$.copy/.' '$'; head -c 1M /dev/zero >'$/filler' || true"

    @Test func `doctor finds a folder that cannot be written to, and a full disk`() async throws {
        try await SignedInUser.run { user in
            let home = user.container.home
            let copied = try await Command(words: ["cp", "-a", home, home + ".copy"]).run()
            #expect(copied.exitCode == 0, "\(copied)")
            // One fault produces one finding, regardless of the number of affected folders and sessions.
            try await user.signIn(session: "work")
            for (mounts, problem, advice) in [
                (Self.readOnly, "read-only", "`sudo mount -o remount,rw "), (Self.full, "no space", "`df -h "),
            ] {
                let doctor = user.account.command(["doctor", "--json"])
                    .run(inMountsOfItsOwn: mounts.replacing("$", with: home))
                let outcome = try await doctor.run()
                let found = try JSONDecoder().decode(Report.self, from: Data(outcome.output.utf8))
                #expect(outcome.exitCode == 78 && !found.isWell, "\(outcome)")
                #expect(found.findings.count == 1, "\(outcome)")
                #expect(found.findings.first?.problem.contains(problem) == true, "\(outcome)")
                #expect(found.findings.first?.problem.contains(home) == true, "\(outcome)")
                #expect(found.findings.first?.advice.contains(advice) == true, "\(outcome)")
            }
            let account = try await user.account.unprivileged(in: user.container)
            let documents = home + "/Documents"
            try user.container.setPermissions(0o500, of: documents)
            let found = try await report(account)
            #expect(found.outcome.exitCode == 78 && found.report.findings.count == 1, "\(found.outcome)")
            #expect(found.report.findings.first?.advice.contains("`chmod u+rwx \(documents)`") == true)
            try user.container.setPermissions(0o700, of: documents)
            #expect(try await report(account).outcome.exitCode == 0)
        }
    }

    @Test func `doctor finds a read-only folder before the first sign-in`() async throws {
        try await Container.run { container in
            let account = try Tool.account(in: container)
            let mounts = Self.readOnly.replacing("$", with: container.root)
            let outcome = try await account.command(["doctor"]).run(inMountsOfItsOwn: mounts).run()
            #expect(outcome.exitCode == 78 && outcome.output.contains("read-only"), "\(outcome)")
            #expect(try await account("doctor").exitCode == 0)
            #expect(!container.exists(container.home))
        }
    }
}
