@testable import EndToEndSupport
import Testing

/// Signing in while another user is signed in, or in a container that is not writable. `SessionDecisionTests` has the table
/// of responses, and `FullDiskTests` tests a full disk.
@Suite(.queued)
struct LoginTests {
    @Test func `Keeps the session after a wrong password or token`() async throws {
        try await SignedInUser.run { user in
            let before = try user.container.files()
            let outcome = try await user.account(
                "login", "--username", "bob", "--password-stdin", input: "wrong\n")
            #expect(outcome.exitCode == 77)
            #expect(outcome.output == "")
            #expect(outcome.errors.contains("the service refused the sign-in (invalid_grant"))
            for token in ["at_made_up", "two words"] {
                let refused = try await user.account("login", "--with-token", input: token + "\n")
                #expect(refused.exitCode == 77, "\(refused)")
                #expect(!refused.errors.contains(token))
            }
            #expect(try user.container.files() == before)
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
        }
    }

    @Test func `Keeps the existing session if the service fails during a sign-in`() async throws {
        try await SignedInUser.run { user in
            let before = try user.container.files()
            // Otherwise the ID token identifies the user if user info fails.
            try await user.server.alter(.token, omitting: ["id_token"])
            let troubles = [
                Fault(path: "*", status: 500), Fault(path: "/oauth/token", disconnect: .garbled),
                Fault(path: "/oauth/userinfo", status: 200, body: "{}"),
            ]
            for trouble in troubles {
                try await user.server.setFaults(trouble)
                let outcome = try await user.account(
                    "login", "--username", "bob", "--password-stdin", input: ExampleServer.bobPassword + "\n")
                #expect(outcome.exitCode == 69, "\(outcome)")
                #expect(outcome.output == "")
                #expect(outcome.errors.lowercased().contains("nothing was changed"), "\(outcome)")
                #expect(try user.container.files() == before)
            }
            #expect(try await user.account("whoami", "--offline").output == "alice\n")
        }
    }

    @Test func `Sends nothing to another service, even after a failed sign-in there`() async throws {
        try await SignedInUser.run { user in
            try await ExampleServer.run { other in
                let failed = try await user.account(
                    "login", "--issuer", other.issuer, "--username", "alice", "--password-stdin", input: "wrong\n")
                #expect(failed.exitCode == 77)
                let elsewhere = try await user.account(
                    "login", "--issuer", other.issuer, "--username", "bob", "--password-stdin", "--session", "other",
                    input: ExampleServer.bobPassword + "\n")
                #expect(elsewhere.exitCode == 0)
                try await other.clearLog()
                // Without `--issuer`, the command still uses the first service.
                try await user.server.clearLog()
                let outcome = try await user.account(
                    "login", "--username", "bob", "--password-stdin", input: ExampleServer.bobPassword + "\n")
                #expect(outcome.exitCode == 0, "\(outcome)")
                #expect(try await user.server.log()["/oauth/token"] == 1)
                #expect(try await user.account("whoami").output == "bob\n")
                for arguments in [["whoami", "--verify"], ["refresh"], ["logout"]] {
                    let outcome = try await user.account.run(arguments)
                    #expect(outcome.exitCode == 0, "\(outcome)")
                }
                #expect(try await other.log().requests == [])
            }
        }
    }

    @Test func `Reports an unwritable container before any request for tokens`() async throws {
        try await SignedInUser.run { user in
            let before = try user.container.entry(user.container.archive)
            let login = user.account.command(
                ["login", "--issuer", user.server.issuer, "--username", "bob", "--password-stdin"])
            let home = user.container.home
            let command = login.run(
                inMountsOfItsOwn: "mount --bind '\(home)' '\(home)'; mount -o remount,bind,ro '\(home)'")
            let outcome = try await command.run(input: ExampleServer.bobPassword + "\n")
            #expect(outcome.exitCode == 74, "\(outcome)")
            #expect(outcome.errors.contains("Read-only file system"), "\(outcome)")
            #expect(try await user.server.log()["/oauth/token"] == 0)
            #expect(try user.container.entry(user.container.archive) == before)
        }
    }
}
