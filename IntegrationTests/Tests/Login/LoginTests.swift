@testable import EndToEndSupport
import Testing

/// Signing in while another user is signed in, or in a container that is not writable.
@Suite(.queued)
struct LoginTests {
    @Test func `Keeps the session after a wrong password`() async throws {
        try await SignedInUser.run { user in
            let before = try user.container.files()
            let outcome = try await user.account(
                "login", "--username", "bob", "--password-stdin", input: "wrong\n")
            #expect(outcome.exitCode == 77)
            #expect(outcome.output == "")
            #expect(outcome.errors.contains("the service refused the sign-in (invalid_grant"))
            #expect(try user.container.files() == before)
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
        }
    }

    @Test(arguments: ["at_made_up", "two words", "tab\there", "ümlaut", "\u{1b}[31m"])
    func `login with a rejected token keeps the session`(token: String) async throws {
        try await SignedInUser.run { user in
            let before = try user.container.files()
            let outcome = try await user.account("login", "--with-token", input: token + "\n")
            #expect(outcome.exitCode == 77)
            #expect(!outcome.errors.contains(token))
            #expect(try user.container.files() == before)
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
        }
    }

    static let troubles = [
        Fault(path: "/oauth/token", status: 503), Fault(path: "/oauth/token", disconnect: .garbled),
        Fault(path: "/oauth/token", status: 200, body: "{}"),
        Fault(path: "/oauth/token", status: 200, headers: ["Content-Type": "text/html"], body: "<html></html>"),
        Fault(path: "/oauth/userinfo", status: 503), Fault(path: "/oauth/userinfo", status: 200, body: "{}"),
        Fault(path: "*", status: 500),
    ]

    @Test(arguments: troubles)
    func `Keeps the existing session if the service fails during a sign-in`(trouble: Fault) async throws {
        try await SignedInUser.run { user in
            let before = try user.container.files()
            // Otherwise the ID token identifies the user if user info fails.
            try await user.server.alter(.token, omitting: ["id_token"])
            try await user.server.setFaults(trouble)
            let outcome = try await user.account(
                "login", "--username", "bob", "--password-stdin", input: ExampleServer.bobPassword + "\n")
            #expect(outcome.exitCode == 69, "\(outcome)")
            #expect(outcome.output == "")
            #expect(outcome.errors.lowercased().contains("nothing was changed"), "\(outcome)")
            #expect(try user.container.files() == before)
            #expect(try await user.account("whoami", "--offline").output == "alice\n")
        }
    }

    @Test func `Keeps the remembered service after a failed sign-in at another service`() async throws {
        try await SignedInUser.run { user in
            try await ExampleServer.run { other in
                let failed = try await user.account(
                    "login", "--issuer", other.issuer, "--username", "alice", "--password-stdin", input: "wrong\n")
                #expect(failed.exitCode == 77)
                try await other.clearLog()
                // Without `--issuer`, the command still uses the first service.
                try await user.server.clearLog()
                let outcome = try await user.account(
                    "login", "--username", "bob", "--password-stdin", input: ExampleServer.bobPassword + "\n")
                #expect(outcome.exitCode == 0, "\(outcome)")
                #expect(try await other.log().requests == [])
                #expect(try await user.server.log()["/oauth/token"] == 1)
                #expect(try await user.account("whoami").output == "bob\n")
            }
        }
    }

    @Test func `Never sends a service's token to another service`() async throws {
        try await SignedInUser.run { user in
            try await ExampleServer.run { other in
                let elsewhere = try await user.account(
                    "login", "--issuer", other.issuer, "--username", "bob", "--password-stdin", "--session", "other",
                    input: ExampleServer.bobPassword + "\n")
                #expect(elsewhere.exitCode == 0)
                try await other.clearLog()
                for arguments in [["whoami", "--verify"], ["refresh"], ["logout"]] {
                    let outcome = try await user.account.run(arguments)
                    #expect(outcome.exitCode == 0, "\(outcome)")
                }
                #expect(try await other.log().requests == [])
            }
        }
    }

    /// Mounts that make a container read-only or full, and whether a user is signed in there.
    static let obstacles: [(mount: String, isSignedIn: Bool, word: String)] = [
        ("mount --bind '$' '$'; mount -o remount,bind,ro '$'", false, "Read-only file system"),
        ("mount --bind '$' '$'; mount -o remount,bind,ro '$'", true, "Read-only file system"),
        (
            "mount -t tmpfs -o size=4k,mode=700 none '$'; head -c 8k /dev/zero > '$/filler' || true", false,
            "No space left on device"
        ),
    ]

    @Test(arguments: obstacles)
    func `Reports an unwritable container before any request for tokens`(
        mount: String, isSignedIn: Bool, word: String
    ) async throws {
        try await SignedInUser.run { user in
            if !isSignedIn { _ = try await user.account("logout") }
            let before = try user.container.entry(user.container.archive)
            try await user.server.clearLog()
            let login = user.account.command(
                ["login", "--issuer", user.server.issuer, "--username", "bob", "--password-stdin"])
            let command = login.run(inMountsOfItsOwn: mount.replacing("$", with: user.container.home))
            let outcome = try await command.run(input: ExampleServer.bobPassword + "\n")
            #expect(outcome.exitCode == 74, "\(outcome)")
            #expect(outcome.errors.contains(word), "\(outcome)")
            #expect(try await user.server.log()["/oauth/token"] == 0)
            #expect(try user.container.entry(user.container.archive) == before)
        }
    }
}
