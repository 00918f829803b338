@testable import EndToEndSupport
import Foundation
import Testing

/// `account doctor --programs`, which reports whether other programs are set up to use a session's token. The tables of
/// configurations are in `GitSetupTests`, `DockerSetupTests` and `KubeSetupTests`.
@Suite(.queued)
struct DoctorProgramsTests {
    private struct Examination {
        let report: DoctorTests.Report
        let outcome: Outcome

        var problems: [String] { report.findings.map { $0.problem + $0.advice } }
    }

    /// Creates a folder with only the given programs, for use as the search path.
    private func bin(_ container: Container, _ programs: [String: String] = [:]) throws -> String {
        let folder = container.path("bin")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for (name, script) in programs {
            try container.write(Data(("#!/bin/sh\n" + script + "\n").utf8), to: folder + "/" + name, permissions: 0o700)
        }
        return folder
    }

    private func examine(_ user: SignedInUser, path: String? = nil) async throws -> Examination {
        var command = user.account.command(["doctor", "--programs", "--json"])
        if let path { command = command.run(by: "env", "PATH=" + path) }
        let outcome = try await command.run()
        let report = try JSONDecoder().decode(DoctorTests.Report.self, from: Data(outcome.output.utf8))
        #expect(outcome.exitCode == (report.isWell ? 0 : 78), "\(outcome)")
        return Examination(report: report, outcome: outcome)
    }

    private func write(_ text: String, to path: String) throws {
        let folder = URL(filePath: path).deletingLastPathComponent()
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(filePath: path))
    }

    private func home(_ user: SignedInUser) throws -> String { try #require(user.container.environment["HOME"]) }

    @Test func `doctor checks the configuration of git, docker and kubectl`() async throws {
        try await SignedInUser.run { user in
            let none = try await examine(user, path: try bin(user.container))
            #expect(none.problems == [] && none.report.notes == [])

            let before = try await examine(user)
            #expect(before.problems == [])
            let note = try #require(before.report.notes.first { $0.contains("do not ask this tool") })
            #expect(note.contains("`account setup git`"))
            let text = try await user.account("doctor", "--programs")
            #expect(
                text.exitCode == 0 && text.output.contains("\nNotes:\n") && text.output.contains("\n  \(note)\n"),
                "\(text)")
            let git = Command(
                words: [
                    "git", "config", "--global", "--add", "credential.https://git.example.com.helper",
                    "!\(user.account.path) git-credential",
                ], environment: user.account.environment)
            #expect(try await git.run().exitCode == 0)
            let unruled = try await examine(user)
            #expect(unruled.problems.count == 1)
            #expect(unruled.problems.first?.contains("`account rule add https://git.example.com/`") == true)
            #expect(try await user.account("rule", "add", "https://git.example.com").exitCode == 0)
            #expect(try await examine(user).problems == [])

            let path = try bin(user.container, ["docker": "", "kubectl": ""])
            try write(
                #"{"credHelpers":{"registry.example.com":"account"}}"#, to: try home(user) + "/.docker/config.json")
            try write(
                """
                users:
                - name: dev
                  user:
                    exec:
                      args:
                      - kube-credential
                      - --session=work
                      command: \(user.account.path)
                      provideClusterInfo: true

                """, to: try home(user) + "/.kube/config")
            let found = try await examine(user, path: path)
            #expect(found.problems.count == 3, "\(found.outcome)")
            #expect(found.problems.contains { $0.contains("docker-credential-account") })
            #expect(found.problems.contains { $0.contains("`account rule add https://registry.example.com/`") })
            #expect(
                found.problems.contains {
                    $0.contains("kubectl's user dev") && $0.contains("`account login --session work`")
                }, "\(found.outcome)")
            #expect(try await user.account("rule", "add", "https://registry.example.com").exitCode == 0)
            _ = try bin(user.container, ["docker-credential-account": ""])
            try await user.signIn(session: "work")
            let well = try await examine(user, path: path)
            #expect(well.problems == [])
            #expect(well.report.notes.contains { $0.contains("of the user dev (") }, "\(well.outcome)")
        }
    }

    @Test func `doctor reports a rule without a session unless the user signed out`() async throws {
        try await SignedInUser.run { user in
            let path = try bin(user.container)
            for url in ["https://a.example.com", "https://b.example.com/team"] {
                #expect(try await user.account("rule", "add", url, "--session", "work").exitCode == 0)
            }
            let never = try await examine(user, path: path)
            #expect(never.problems.count == 1, "\(never.outcome)")
            #expect(never.problems[0].contains("https://a.example.com/, https://b.example.com/team"))
            #expect(never.problems[0].contains("`account login --session work`"))

            try await user.signIn(session: "work")
            let signedIn = try await examine(user, path: path)
            #expect(signedIn.problems == [] && signedIn.report.notes == [])

            #expect(try await user.account("logout", "--session", "work").exitCode == 0)
            let signedOut = try await examine(user, path: path)
            #expect(signedOut.problems == [])
            #expect(signedOut.report.notes.count == 1, "\(signedOut.outcome)")
            #expect(signedOut.report.notes.first?.contains("no user is signed in to session work") == true)
        }
    }
}
