@testable import EndToEndSupport
import Testing

/// Password prompts, and the errors when there is no terminal for a prompt.
@Suite(.queued)
struct PromptTests {
    @Test func `Without a terminal, login fails and names the missing options`() async throws {
        try await Container.run { container in
            try await ExampleServer.run { server in
                let account = try Tool.account(in: container)
                let password = ["--issuer", server.issuer, "--password", "--username", "alice"]
                let rows: [(arguments: [String], names: [String], others: [String])] = [
                    ([], ["--service", "URL"], []), (password, ["--password-stdin"], ["--username"]),
                    // GitHub supports no other way to sign in.
                    (["--service", "github"], ["--device", "--with-token", "--client-id"], ["--web", "--password"]),
                ]
                for row in rows {
                    let outcome = try await account.run(["login"] + row.arguments, input: "alice\n")
                    #expect(outcome.exitCode == 64, "\(outcome)")
                    #expect(outcome.output == "")
                    for name in row.names { #expect(outcome.errors.contains(name), "\(outcome)") }
                    for name in row.others { #expect(!outcome.errors.contains(name), "\(outcome)") }
                }
                #expect(try await server.log()["/oauth/token"] == 0)
                #expect(!container.exists(container.archive))
            }
        }
    }

    @Test func `Rejects a password as an argument without repeating it`() async throws {
        try await Container.run { container in
            let outcome = try await Tool.account(in: container)("login", "--password", "hunter2")
            #expect(outcome.exitCode == 64, "\(outcome)")
            #expect(outcome.errors.contains("--password prompts for the password"), "\(outcome)")
            #expect(!outcome.errors.contains("hunter2"))
        }
    }

    @Test func `Reports a wrong address before asking for the password`() async throws {
        try await Container.run { container in
            let login = try Tool.account(in: container).command(
                ["login", "http://127.0.0.1:1", "--password", "--username", "alice"])
            let session = try await Terminal.run(login)
            #expect(session.exitCode == 69, "\(session)")
            #expect(session.screen.contains("check the address"), "\(session)")
            #expect(!session.screen.contains("Password"), "\(session)")
        }
    }

    @Test func `Asks for the password without echo, on standard error`() async throws {
        try await Container.run { container in
            try await ExampleServer.run { server in
                let output = container.path("output")
                let login = try Tool.account(in: container).command(["login", "--password", "--issuer", server.issuer])
                // The screen shows standard error and the terminal's echo.
                let session = try await Terminal.run(
                    login.run(by: "sh", "-c", "exec \"$@\" > '\(output)'", "sh"),
                    .wait("User name: "), .type("alice"), .enter, .wait("Password for alice: "), .silent,
                    // The user corrects the password before it is sent.
                    .type("no"), .controlU, .type(ExampleServer.alicePassword), .type("ü"), .backspace, .enter)
                #expect(session.exitCode == 0, "\(session)")
                #expect(session.echo)
                #expect(session.screen.contains("User name: alice"))
                #expect(!session.screen.contains("correct"))
                #expect(session.screen.contains("Signed in as alice at \(server.issuer)."))
                #expect(try container.entry(output)?.bytes == [])
                #expect(try await Tool.account(in: container)("whoami").output == "alice\n")
            }
        }
    }

    @Test func `Asks three times for a password that the service refuses`() async throws {
        try await Container.run { container in
            try await ExampleServer.run { server in
                let login = try Tool.account(in: container).command(
                    ["login", server.issuer, "--client-id", "account-cli", "--username", "alice"])
                let wrong: [Terminal.Step] = [.wait("Password for alice: "), .silent, .type("wrong"), .enter]
                let refused = try await Terminal.run(
                    login,
                    wrong + [.wait("attempt 1 of 3")] + wrong + [.wait("attempt 2 of 3")] + wrong)
                #expect(refused.exitCode == 77, "\(refused)")
                #expect(!container.exists(container.archive))
                let session = try await Terminal.run(
                    login,
                    wrong + [
                        .wait("attempt 1 of 3"), .wait("Password for alice: "), .silent,
                        .type(ExampleServer.alicePassword), .enter,
                    ])
                #expect(session.exitCode == 0, "\(session)")
            }
        }
    }

    @Test func `Disables echo before the password prompt appears`() async throws {
        try await Container.run { container in
            try await ExampleServer.run { server in
                let login = try Tool.account(in: container).command(
                    ["login", "--issuer", server.issuer, "--username", "alice"])
                // Delays each change of terminal settings, to simulate a fast typist.
                let slow = login.run(by: "strace", "-f", "-o", "/dev/null", "-e", "inject=ioctl:delay_exit=100000")
                let session = try await Terminal.run(
                    slow, .wait("Password for alice: "), .silentNow, .type(ExampleServer.alicePassword), .enter)
                #expect(session.exitCode == 0, "\(session)")
                #expect(!session.screen.contains("correct"))
            }
        }
    }

    @Test func `On a terminal, login --with-token advises how to pass a token`() async throws {
        try await Container.run { container in
            let login = try Tool.account(in: container).command(
                ["login", "--issuer", "https://auth.example.com", "--with-token"])
            let session = try await Terminal.run(login)
            #expect(session.exitCode == 64, "\(session)")
            #expect(session.screen.contains("login --issuer https://auth.example.com --with-token < FILE"))
        }
    }

    @Test func `Shows the service that a command waits for, and the waiting time`() async throws {
        try await SignedInUser.run { user in
            try await user.server.setFaults(Fault(path: "/oauth/userinfo", delayMilliseconds: 1500))
            // On a busy machine, the response may be too late, so do not require a verified account.
            let session = try await Terminal.run(user.account.command(["whoami", "--max-age", "0"]))
            #expect(session.exitCode == 0, "\(session)")
            #expect(session.screen.contains("Waiting for \(user.server.issuer), up to 5 s"))
            #expect(session.screen.contains("alice\r\n"), "\(session)")
        }
    }

    @Test func `Reads a password from standard input up to the first line end`() async throws {
        try await SignedInUser.run { user in
            let login = user.account.command(["login", "--username", "bob", "--password-stdin"])
            // Both commands share standard input, so the second reads the rest.
            let both = login.run(by: "sh", "-c", "\"$@\" && cat", "sh")
            let outcome = try await both.run(input: ExampleServer.bobPassword + "\r\nthe rest")
            #expect(outcome.exitCode == 0, "\(outcome)")
            #expect(outcome.output == "the rest")
        }
    }

    @Test func `Rejects an empty or oversized password or token`() async throws {
        try await SignedInUser.run { user in
            for input in ["", String(repeating: "x", count: 100_000)] {
                for arguments in [["--username", "bob", "--password-stdin"], ["--with-token"]] {
                    let outcome = try await user.account.run(["login"] + arguments, input: input)
                    #expect(outcome.exitCode == 64, "\(outcome.errors)")
                    #expect(outcome.errors.contains("standard input"))
                    #expect(outcome.errors.count < 500)
                }
            }
            let session = try await Terminal.run(
                user.account.command(["login", "--username", "bob"]), .wait("Password for bob: "), .silent, .enter)
            #expect(session.exitCode == 64, "\(session)")
            #expect(session.echo)
            #expect(try await user.server.log()["/oauth/token"] == 0)
            #expect(try await user.account("whoami", "--offline").output == "alice\n")
        }
    }
}
