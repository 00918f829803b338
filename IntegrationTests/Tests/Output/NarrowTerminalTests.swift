@testable import EndToEndSupport
import Testing

/// Output on a terminal of 40 columns, and Ctrl-C. `LineBreakingTests`, `QRCodeTests` and `UnknownCommandTests` have the
/// rules of the layout, of QR codes and of misspelled commands.
@Suite(.queued)
struct NarrowTerminalTests {
    /// Every line that the terminal showed at any time, without colors.
    private func lines(_ screen: String) -> [Substring] {
        screen.replacing(/\u{1b}\[[0-9;?]*[A-Za-z]/, with: "").split { $0 == "\n" || $0 == "\r" || $0 == "\r\n" }
    }

    @Test func `Progress and problems fit in 40 columns, and Ctrl-C is confirmed`() async throws {
        try await SignedInUser.run { user in
            try await user.server.setFaults(Fault(path: "/oauth/userinfo", delayMilliseconds: 1500))
            // On a busy machine, the response may be too late, so do not require a verified account.
            let session = try await Terminal.run(user.account.command(["whoami", "--max-age", "0"]), columns: 40)
            #expect(session.exitCode == 0, "\(session)")
            let waiting = lines(session.screen).filter { $0.hasPrefix("Waiting") }
            #expect(!waiting.isEmpty, "\(session)")
            for line in waiting { #expect(line.count < 40, "\(line)") }
            #expect(session.screen.contains("alice\r\n"), "\(session)")
            try await user.server.clearFaults()

            let gate = try await user.server.hold("/oauth/userinfo")
            let isHeld = user.container.path("held")
            async let cancelled = Terminal.run(
                user.account.command(["whoami", "--verify"]), .appears(isHeld), .controlC)
            try await gate.waitUntilHeld()
            try user.container.write([], to: isHeld)
            let end = try await cancelled
            #expect(end.exitCode == 130, "\(end)")
            #expect(end.screen.contains("Cancelled."), "\(end)")
            try await gate.open()
            try await user.server.clearFaults()

            try user.container.setPermissions(0o644, of: user.container.archive)
            let doctor = try await Terminal.run(user.account.command(["doctor"]), columns: 40)
            #expect(doctor.exitCode == 78, "\(doctor)")
            let shown = lines(doctor.screen)
            #expect(shown.contains { $0.contains("problem: other users can") }, "\(doctor)")
            for line in shown where line.count > 40 {
                // Only a path or a command may be longer than the line.
                let rest = line.drop { $0 == " " }.replacing(/`[^`]*`/, with: "")
                #expect(!rest.contains(" "), "\(line)")
            }
        }
    }
}
