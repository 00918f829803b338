@testable import EndToEndSupport
import Testing

/// Output on terminals of 40 columns.
@Suite(.queued)
struct NarrowTerminalTests {
    /// Every line that the terminal showed at any time, without colors.
    private func lines(_ screen: String) -> [Substring] {
        screen.replacing(/\u{1b}\[[0-9;?]*[A-Za-z]/, with: "").split { $0 == "\n" || $0 == "\r" || $0 == "\r\n" }
    }

    @Test func `A progress line fits in 40 columns`() async throws {
        try await SignedInUser.run { user in
            try await user.server.setFaults(Fault(path: "/oauth/userinfo", delayMilliseconds: 1500))
            // On a busy machine, the response may be too late, so do not require a verified account.
            let session = try await Terminal.run(user.account.command(["whoami", "--max-age", "0"]), columns: 40)
            #expect(session.exitCode == 0, "\(session)")
            let waiting = lines(session.screen).filter { $0.hasPrefix("Waiting") }
            #expect(!waiting.isEmpty, "\(session)")
            for line in waiting { #expect(line.count < 40, "\(line)") }
            #expect(session.screen.contains("alice\r\n"), "\(session)")
        }
    }

    @Test(arguments: [40, 80])
    func `doctor breaks long lines between words`(columns: Int) async throws {
        try await SignedInUser.runWithoutServer { account, container, _ in
            try container.setPermissions(0o644, of: container.archive)
            let session = try await Terminal.run(account.command(["doctor"]), columns: columns)
            #expect(session.exitCode == 78, "\(session)")
            let shown = lines(session.screen)
            #expect(shown.contains { $0.contains("problem: other users can") }, "\(session)")
            for line in shown where line.count > columns {
                // Only a path or a command may be longer than the line.
                let rest = line.drop { $0 == " " }.replacing(/`[^`]*`/, with: "")
                #expect(!rest.contains(" "), "\(line)")
            }
            let whole = try await account("doctor").output.split(separator: "\n")
            #expect(whole.count < shown.count, "\(whole)")
        }
    }

    @Test(arguments: [40, 80, 200])
    func `Shows no QR code for an address on this machine`(columns: Int) async throws {
        try await Container.run { container in
            try await ExampleServer.run(["--device-interval", "1"]) { server in
                let account = try Tool.account(in: container)
                let session = try await Terminal.run(
                    account.command(["login", "--device", "--issuer", server.issuer]), columns: columns,
                    .find("[A-Z]{4}-[A-Z]{4}"), .controlC)
                #expect(session.exitCode == 130, "\(session)")
                #expect(!session.screen.contains { "█▀▄".contains($0) }, "\(session)")
                #expect(session.screen.contains("Cancelled."), "\(session)")
            }
        }
    }

    @Test func `Ctrl-C during a check prints a confirmation`() async throws {
        try await SignedInUser.run { user in
            let gate = try await user.server.hold("/oauth/userinfo")
            let isHeld = user.container.path("held")
            async let session = Terminal.run(
                user.account.command(["whoami", "--verify"]), .appears(isHeld), .controlC)
            try await gate.waitUntilHeld()
            try user.container.write([], to: isHeld)
            let end = try await session
            #expect(end.exitCode == 130, "\(end)")
            #expect(end.screen.contains("Cancelled."), "\(end)")
        }
    }

    @Test func `Suggests the correct command for a misspelled command`() async throws {
        try await Container.run { container in
            let account = try Tool.account(in: container)
            for (typed, meant) in [
                ("whoam", "whoami"), ("logn", "login"), ("sesions", "sessions"), ("statsu", "status"),
            ] {
                let outcome = try await account(typed)
                #expect(outcome.exitCode == 64, "\(outcome)")
                #expect(outcome.errors.lowercased().contains("did you mean '\(meant)'"), "\(outcome)")
            }
        }
    }

    @Test func `sessions and logout --all report that there is no session`() async throws {
        try await Container.run { container in
            let account = try Tool.account(in: container)
            for words in [["sessions"], ["logout", "--all"]] {
                let outcome = try await account.run(words)
                #expect(outcome.exitCode == 0, "\(outcome)")
                #expect(outcome.output == "")
                #expect(!outcome.errors.isEmpty, "\(outcome)")
            }
            #expect(try await account("sessions", "--json").exitCode == 0)
        }
    }
}
