@testable import EndToEndSupport
import Testing

/// Signals while a command waits for the user. `SignalGuardTests` has the table of signals.
@Suite(.queued)
struct CancelledTests {
    @Test func `Ctrl-C cancels the sign-in with a message and keeps the session`() async throws {
        try await SignedInUser.run { user in
            let before = try user.container.entry(user.container.archive)
            let tool = user.account.with("BROWSER", "true")
            let rows: [([String], [Terminal.Step])] = [
                (["login", "--device"], [.wait("The code is valid for")]),
                (["login", "--web"], [.wait("press Ctrl-C to cancel")]),
                (["login", "--username", "bob"], [.wait("Password for bob: "), .silent, .type("typed")]),
            ]
            for (arguments, steps) in rows {
                let session = try await Terminal.run(tool.command(arguments), steps + [.controlC])
                #expect(session.signal == 2, "\(session)")
                #expect(session.screen.hasSuffix("Cancelled.\r\n"), "\(session)")
                #expect(session.echo)
            }
            let session = try await Terminal.run(
                user.account.command(["login", "--username", "bob"]), .wait("Password for bob: "), .silent, .signal(15))
            #expect(session.signal == 15, "\(session)")
            #expect(session.echo)
            #expect(try user.container.entry(user.container.archive) == before)
            #expect(try await user.account("whoami", "--offline").output == "alice\n")
        }
    }
}
