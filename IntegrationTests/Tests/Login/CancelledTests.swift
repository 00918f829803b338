@testable import EndToEndSupport
import Testing

/// Ctrl-C while a command waits for the user.
@Suite(.queued)
struct CancelledTests {
    @Test(arguments: [
        (["login", "--device"], "The code is valid for"), (["login", "--web"], "press Ctrl-C to cancel"),
        (["login", "--paste"], "Press Ctrl-C to cancel"), (["login", "--password"], "User name: "),
        (["login", "--username", "bob"], "Password for bob: "),
    ])
    func `Ctrl-C cancels the sign-in with a message and keeps the session`(
        arguments: [String], question: String
    ) async throws {
        try await SignedInUser.run { user in
            let before = try user.container.entry(user.container.archive)
            let tool = user.account.with("BROWSER", "true")
            let isSecret = question.hasPrefix("Password")
            let session =
                isSecret
                ? try await Terminal.run(tool.command(arguments), .wait(question), .silent, .controlC)
                : try await Terminal.run(tool.command(arguments), .wait(question), .controlC)
            #expect(session.signal == 2, "\(session)")
            #expect(session.screen.hasSuffix("Cancelled.\r\n"), "\(session)")
            #expect(session.echo)
            #expect(try user.container.entry(user.container.archive) == before)
            #expect(try await user.account("whoami", "--offline").output == "alice\n")
        }
    }

    @Test func `A signal at the password prompt restores the terminal`() async throws {
        try await SignedInUser.run { user in
            let session = try await Terminal.run(
                user.account.command(["login", "--username", "bob"]), .wait("Password for bob: "), .silent, .signal(15))
            #expect(session.signal == 15, "\(session)")
            #expect(session.echo)
        }
    }
}
