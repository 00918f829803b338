@testable import EndToEndSupport
import Foundation
import Testing

/// `account doctor`, which reports whether other programs are set up to use a session's token.
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

    @Test func `doctor prints no notes if none of the programs is installed`() async throws {
        try await SignedInUser.run { user in
            let found = try await examine(user, path: try bin(user.container))
            #expect(found.problems == [])
            #expect(found.report.notes == [])
        }
    }

    @Test func `doctor shows how to set up git and checks git's configuration`() async throws {
        try await SignedInUser.run { user in
            func git(_ arguments: String...) async throws {
                let command = Command(
                    words: ["git", "config", "--global"] + arguments, environment: user.account.environment)
                let outcome = try await command.run()
                guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
            }
            let before = try await examine(user)
            #expect(before.problems == [])
            let note = try #require(before.report.notes.first { $0.contains("do not ask this tool") })
            #expect(note.contains("`account setup git`"))
            let text = try await user.account("doctor", "--programs")
            #expect(
                text.exitCode == 0 && text.output.contains("\nNotes:\n") && text.output.contains("\n  \(note)\n"),
                "\(text)")

            try await git("--add", "credential.helper", "!\(user.account.path) git-credential")
            let useless = try await examine(user)
            #expect(useless.report.notes.contains { $0.hasPrefix("git asks this tool for tokens at every URL") })
            #expect(useless.report.notes.contains { $0.hasPrefix("there are no rules") }, "\(useless.outcome)")

            try await git("--add", "credential.https://git.example.com.helper", "!\(user.account.path) git-credential")
            let unruled = try await examine(user)
            #expect(unruled.problems.count == 1)
            #expect(unruled.problems.first?.contains("`account rule add https://git.example.com/`") == true)
            #expect(try await user.account("rule", "add", "https://git.example.com").exitCode == 0)
            let ruled = try await examine(user)
            #expect(ruled.problems == [])
            #expect(ruled.report.notes.contains("git asks this tool for tokens at https://git.example.com"))

            try await git("--add", "credential.helper", "!/nowhere/account git-credential")
            let gone = try await examine(user)
            #expect(gone.problems.count == 1 && gone.problems[0].contains("/nowhere/account"), "\(gone.outcome)")
        }
    }

    @Test func `doctor checks docker's configuration, including DOCKER_CONFIG`() async throws {
        try await SignedInUser.run { user in
            let path = try bin(user.container, ["docker": ""])
            let before = try await examine(user, path: path)
            #expect(before.problems == [])
            let file = try home(user) + "/.docker/config.json"
            #expect(
                before.report.notes.count == 1 && before.report.notes[0].contains("`account setup docker`"),
                "\(before.outcome)")

            try write(#"{"credHelpers":{"registry.example.com":"account"}}"#, to: file)
            let half = try await examine(user, path: path)
            #expect(half.problems.count == 2, "\(half.outcome)")
            #expect(half.problems.contains { $0.contains("docker-credential-account") })
            #expect(half.problems.contains { $0.contains("`account rule add https://registry.example.com/`") })

            #expect(try await user.account("rule", "add", "https://registry.example.com").exitCode == 0)
            _ = try bin(user.container, ["docker-credential-account": ""])
            let whole = try await examine(user, path: path)
            #expect(whole.problems == [])
            #expect(whole.report.notes.count == 1 && whole.report.notes[0].contains("registry.example.com"))

            let other = user.container.path("docker")
            try write("{", to: other + "/config.json")
            let elsewhere = SignedInUser(
                server: user.server, container: user.container, account: user.account.with("DOCKER_CONFIG", other))
            let damaged = try await examine(elsewhere, path: path)
            #expect(damaged.problems == [])
            #expect(damaged.report.notes == ["\(other)/config.json is not a JSON object, so it was not inspected"])
        }
    }

    @Test func `doctor finds the users of a kubeconfig and checks their sessions`() async throws {
        try await SignedInUser.run { user in
            let path = try bin(user.container, ["kubectl": ""])
            let before = try await examine(user, path: path)
            #expect(before.problems == [])
            #expect(before.report.notes.count == 1, "\(before.outcome)")
            #expect(before.report.notes.first?.contains("`account setup kubectl`") == true)

            let config = """
                users:
                - name: dev
                  user:
                    exec:
                      args:
                      - kube-credential
                      - --session=work
                      command: \(user.account.path)
                      provideClusterInfo: true

                """
            try write(config, to: try home(user) + "/.kube/config")
            let unsigned = try await examine(user, path: path)
            #expect(unsigned.problems.count == 1, "\(unsigned.outcome)")
            #expect(unsigned.problems.first?.contains("session work") == true)
            #expect(unsigned.problems.first?.contains("kubectl's user dev") == true)
            #expect(unsigned.problems.first?.contains("`account login --session work`") == true)
            try await user.signIn(session: "work")
            let signed = try await examine(user, path: path)
            #expect(signed.problems == [])
            // kubectl's user gets no token unless kubectl provides the cluster's address.
            try write(
                config.replacing("provideClusterInfo: true", with: "provideClusterInfo: false"),
                to: try home(user) + "/.kube/config")
            let unnamed = try await examine(user, path: path)
            #expect(unnamed.problems.count == 1, "\(unnamed.outcome)")
            let advice = "`kubectl config set-credentials dev --exec-provide-cluster-info`"
            #expect(unnamed.problems.first?.contains(advice) == true, "\(unnamed.outcome)")
            try write(config, to: try home(user) + "/.kube/config")
            #expect(signed.report.notes.count == 1, "\(signed.outcome)")
            #expect(signed.report.notes.first?.contains("of the user dev (") == true)

            let (one, two) = (user.container.path("one"), user.container.path("two"))
            try write(config.replacing("name: dev", with: "name: staging"), to: two)
            let named = SignedInUser(
                server: user.server, container: user.container,
                account: user.account.with("KUBECONFIG", one + ":" + two))
            let notes = try await examine(named, path: path).report.notes
            #expect(notes.count == 1 && notes[0].contains("of the user staging (\(two))"), "\(notes)")
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

            try await user.signIn(session: "work")
            try await user.server.endSessions()
            #expect(try await user.account("whoami", "--verify", "--session", "work").exitCode == 77)
            let ended = try await examine(user, path: path)
            #expect(ended.problems.count == 1, "\(ended.outcome)")
        }
    }

    @Test func `doctor finds the systemd units that keep tokens and shows their state`() async throws {
        try await SignedInUser.run { user in
            let empty = try bin(user.container)
            let units = try home(user) + "/.config/systemd/user"
            try write("[Service]\n", to: units + "/account-keep@.service")
            let installed = try await examine(user, path: empty)
            #expect(installed.problems == [])
            #expect(installed.report.notes.count == 1, "\(installed.outcome)")
            #expect(
                installed.report.notes.first?.contains("`systemctl --user enable --now account-keep@default.service`")
                    == true)

            let wants = units + "/default.target.wants"
            try FileManager.default.createDirectory(atPath: wants, withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(
                atPath: wants + "/account-keep@default.service", withDestinationPath: units + "/account-keep@.service")
            let enabled = try await examine(user, path: empty)
            #expect(enabled.problems == [])
            #expect(
                enabled.report.notes == [
                    "systemd runs account-keep@default.service, which keeps the token of session default in a file"
                ])

            for (state, isWell, text) in [
                ("active", true, "systemd runs account-keep@default.service"),
                ("inactive", true, "`systemctl --user start"),
                ("failed", false, "`journalctl --user --unit account-keep@default.service`"),
            ] {
                let path = try bin(user.container, ["systemctl": "echo \(state)"])
                let found = try await examine(user, path: path + ":/bin:/usr/bin")
                #expect(found.report.isWell == isWell, "\(found.outcome)")
                #expect((found.problems + found.report.notes).contains { $0.contains(text) }, "\(found.outcome)")
            }

            try FileManager.default.removeItem(atPath: units + "/account-keep@.service")
            let gone = try await examine(user, path: empty)
            #expect(gone.problems.count == 1, "\(gone.outcome)")
            #expect(gone.problems.first?.contains("`systemctl --user disable account-keep@default.service`") == true)
        }
    }
}
