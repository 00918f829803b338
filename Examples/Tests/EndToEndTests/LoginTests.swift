import Testing

/// Signing in where someone is signed in already, and where nothing can be stored.
@Suite(.queued)
struct LoginTests {
    @Test func `A wrong password keeps who is signed in`() async throws {
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
    func `A token that the service does not take keeps who is signed in`(token: String) async throws {
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
    func `A service in trouble at a sign-in keeps who is signed in`(trouble: Fault) async throws {
        try await SignedInUser.run { user in
            let before = try user.container.files()
            // Which would say who the user is where user info does not.
            try await user.server.alter(.token, omitting: ["id_token"])
            try await user.server.setFaults(trouble)
            let outcome = try await user.account(
                "login", "--username", "bob", "--password-stdin", input: ExampleServer.bobPassword + "\n")
            #expect(outcome.exitCode == 69, "\(outcome)")
            #expect(outcome.output == "")
            #expect(outcome.errors.contains("nothing was changed"))
            #expect(try user.container.files() == before)
            #expect(try await user.account("whoami", "--offline").output == "alice\n")
        }
    }

    @Test func `A sign-in that fails elsewhere leaves the remembered service as it was`() async throws {
        try await SignedInUser.run { user in
            try await ExampleServer.run { other in
                let failed = try await user.account(
                    "login", "--issuer", other.issuer, "--username", "alice", "--password-stdin", input: "wrong\n")
                #expect(failed.exitCode == 77)
                try await other.clearLog()
                // Without --issuer it is still the first service.
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

    @Test func `The token of one service is never sent to another`() async throws {
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

    /// What makes a container impossible to write to, and whether someone is signed in there.
    static let obstacles: [(mount: String, isSignedIn: Bool, word: String)] = [
        ("mount --bind '$' '$'; mount -o remount,bind,ro '$'", false, "EROFS"),
        ("mount --bind '$' '$'; mount -o remount,bind,ro '$'", true, "EROFS"),
        ("mount -t tmpfs -o size=4k,mode=700 none '$'; head -c 8k /dev/zero > '$/filler' || true", false, "ENOSPC"),
    ]

    @Test(arguments: obstacles)
    func `A container that cannot be written to is told before anything is asked of the service`(
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
