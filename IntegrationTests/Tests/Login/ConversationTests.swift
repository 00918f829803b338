@testable import EndToEndSupport
import Foundation
import Testing

/// `login` without options on a terminal, which asks for each setting and prints the equivalent command.
@Suite(.queued)
struct ConversationTests {
    /// The answer that selects the password. The order of the other two methods depends on the machine.
    private static let password = Terminal.Step.type("3")

    /// The steps after the user has chosen a service.
    ///
    /// - Parameter questions: Further questions, before that for the user name.
    private static func signIn(
        as name: String, _ password: String, _ questions: [Terminal.Step] = []
    ) -> [Terminal.Step] {
        [
            .wait("How do you want to sign in?"), .wait("Enter a number (leave empty for 1): "), Self.password, .enter,
            .wait("enable the password grant"), .wait("Client ID (leave empty for account-cli): "), .enter,
        ] + questions + [
            .wait("User name: "), .type(name), .enter, .wait("Password for \(name): "), .silent, .type(password),
            .enter,
        ]
    }

    @Test func `login asks until there is a service, and prints the command`() async throws {
        try await Container.run { container in
            try await ExampleServer.run { server in
                let account = try Tool.account(in: container)
                let session = try await Terminal.run(
                    account.command(["login"]),
                    [
                        .wait("Where do you want to sign in?"), .wait("1  GitHub"), .wait("another service: "),
                        .type("-9223372036854775808"), .enter, .wait("Enter a number from 1 to "),
                        .wait("another service: "), .type("http://example.com"), .enter, .wait("is not encrypted"),
                        .wait("another service: "), .type("http://127.0.0.1:\(try FreePort.find())"), .enter,
                        .wait("refused"), .wait("another service: "), .type(server.issuer), .enter,
                    ]
                        + Self.signIn(as: "alice", ExampleServer.alicePassword))
                #expect(session.exitCode == 0, "\(session)")
                let command = "account login \(server.issuer) --client-id account-cli --password"
                #expect(
                    session.screen.contains("To sign in without these questions, run:\r\n\r\n    \(command)"),
                    "\(session)")
                #expect(session.screen.contains("Signed in as alice at \(server.issuer)."))
                #expect(try await account("whoami", "--offline").output == "alice\n")
            }
        }
    }

    /// Answers the questions of `login` with the URL of the API and `answers`, and signs in with the browser.
    private func signInWithBrowser(_ user: APIUser, answering answers: [Terminal.Step] = []) async throws
        -> Terminal.Session
    {
        let shown = user.container.path("shown")
        async let session = Terminal.run(
            user.account.with("BROWSER", "true").command(["login"]), columns: 400,
            [.wait("another service: "), .type(user.api), .enter] + answers + [
                .wait("How do you want to sign in?"), .wait("Enter a number (leave empty for 1): "), .enter,
                .find(#"http\S+code_challenge\S+\s"#), .tell(shown),
            ])
        try await waitUntil("the URL was shown") { user.container.exists(shown) }
        let screen = try String(contentsOfFile: shown, encoding: .utf8)
        guard let address = screen.firstMatch(of: /(http\S+code_challenge\S+)\s/) else { throw Unexpected(screen) }
        let back = try await user.server.redirection(from: String(address.1))
        _ = try? await HTTP.get(back)
        return try await session
    }

    @Test func `The URL of an API needs no client ID, and login with it is the command`() async throws {
        try await APIUser.run { user in
            let end = try await signInWithBrowser(user)
            #expect(end.exitCode == 0, "\(end)")
            #expect(!end.screen.contains("Client ID"), "\(end)")
            #expect(end.screen.contains("run:\r\n\r\n    account login \(user.api)\r\n"), "\(end)")
            #expect(try await user.call() == 200)
            #expect(try user.registrations().count == 1)
        }
    }

    @Test func `Asks once which server of an API to use, and later commands use that server`() async throws {
        try await APIUser.run { user in
            let servers = ["http://127.0.0.1:1", user.server.issuer]
            try await user.server.alter(.resourceMetadata, setting: ["authorization_servers": .list(servers)])
            let end = try await signInWithBrowser(
                user,
                answering: [
                    .wait("The API has 2 authorization servers:"), .wait("2  \(user.server.issuer)"),
                    .wait("Enter a number: "), .type("3"), .enter, .wait("Enter a number from 1 to 2."),
                    .wait("Enter a number: "), .type("2"), .enter,
                ])
            #expect(end.exitCode == 0, "\(end)")
            #expect(end.screen.components(separatedBy: "The API has 2 authorization servers:").count == 2, "\(end)")
            #expect(end.screen.contains("account login \(user.api) --issuer \(user.server.issuer)\r\n"), "\(end)")
            #expect(try await user.account("refresh").exitCode == 0)
            #expect(try await user.call() == 200)
        }
    }

    @Test func `Asks for the client ID at an API whose service registers no tools`() async throws {
        try await APIUser.run(registration: "off") { user in
            let page = "https://docs.example/\u{1B}[31mapps"
            try await user.server.alter(.discovery, setting: ["service_documentation": .text(page)])
            let session = try await Terminal.run(
                user.account.command(["login"]),
                [.wait("another service: "), .type(user.api), .enter]
                    + Self.signIn(
                        as: "alice", ExampleServer.alicePassword,
                        [.wait("names \(user.server.issuer). Send your password there? [y/N] "), .type("y"), .enter]))
            #expect(session.exitCode == 0, "\(session)")
            let options = "--issuer \(user.server.issuer) --client-id account-cli --password"
            #expect(session.screen.contains("account login \(user.api) \(options)\r\n"), "\(session)")
            #expect(session.screen.contains("https://docs.example/\u{FFFD}[31mapps"), "\(session)")
            #expect(try await user.call() == 200)
        }
    }

    @Test func `A tool that does not support APIs by URL uses the URL as the issuer`() async throws {
        try await Household.run { household in
            try await ExampleServer.run { server in
                let session = try await Terminal.run(
                    household.homepwner.command(["account", "login"]),
                    [
                        .wait("Where do you want to sign in?"), .wait("URL of the service: "), .type(server.issuer),
                        .enter, .wait("How do you want to sign in?"), .wait("Enter a number (leave empty for 1): "),
                        Self.password, .enter, .wait("Client ID"), .enter, .wait("User name: "),
                        .type("alice"), .enter, .wait("Password for alice: "), .silent,
                        .type(ExampleServer.alicePassword), .enter,
                    ])
                #expect(session.exitCode == 0, "\(session)")
                #expect(session.screen.contains("login --issuer \(server.issuer)"), "\(session)")
                let words = ["account", "login", server.issuer, "--username", "alice", "--password-stdin"]
                let again = try await household.homepwner.run(words, input: ExampleServer.alicePassword + "\n")
                #expect(again.exitCode == 0, "\(again)")
            }
        }
    }

    @Test func `Shows where to register a client ID, and stores nothing after Ctrl-C`() async throws {
        try await Container.run { container in
            let session = try await Terminal.run(
                Tool.account(in: container).command(["login"]), .wait("another service: "),
                .type("github.com"), .enter,
                .wait("With a code that you enter on another device (requires a client ID)"),
                .wait("Enter a number (leave empty for 1): "), .enter,
                .wait("https://github.com/settings/developers"), .wait("Enable Device Flow"), .wait("Client ID: "),
                .controlC)
            #expect(session.exitCode == 130, "\(session)")
            #expect(!container.exists(container.archive))
        }
    }

    @Test func `Offers a personal access token, which needs no client ID`() async throws {
        try await Container.run { container in
            let session = try await Terminal.run(
                Tool.account(in: container).command(["login"]), .wait("another service: "), .type("github.com"), .enter,
                .wait("2  With a personal access token"), .wait("Enter a number (leave empty for 1): "), .type("2"),
                .enter, .wait("account login --service github --with-token < FILE"), .wait("Access token: "), .controlC)
            #expect(session.exitCode == 130, "\(session)")
            #expect(!session.screen.contains("Client ID: "), "\(session)")
            #expect(!container.exists(container.archive))
        }
    }

    @Test func `The answer b goes back to the previous question`() async throws {
        try await Container.run { container in
            try await ExampleServer.run { server in
                let session = try await Terminal.run(
                    Tool.account(in: container).command(["login"]),
                    [
                        .wait("another service: "), .type("b"), .enter, .wait("This is the first question."),
                        .wait("another service: "), .type("github"), .enter,
                        .wait("Enter a number (leave empty for 1): "), .type("b"), .enter,
                        .wait("Where do you want to sign in?"), .wait("another service: "), .type(server.issuer),
                        .enter,
                        .wait("Enter a number (leave empty for 1): "), .type("4"), .enter,
                        .wait("Access token: "), .silent, .type("b"), .enter,
                        .wait("Enter a number (leave empty for 1): "), Self.password, .enter,
                        .wait("Client ID (leave empty for account-cli): "), .enter,
                        .wait("User name: "), .type("b"), .enter,
                        .wait("Client ID (leave empty for account-cli): "), .enter,
                        .wait("User name: "), .type("alice"), .enter,
                        .wait("Password for alice: "), .silent, .type("b"), .enter,
                        .wait("Client ID (leave empty for account-cli): "), .type("b"), .enter,
                        .wait("Enter a number (leave empty for 1): "), .type("4"), .enter,
                        .wait("Access token: "), .controlC,
                    ])
                #expect(session.exitCode == 130, "\(session)")
                #expect(session.screen.contains("account login \(server.issuer) --with-token"), "\(session)")
                #expect(!session.screen.contains("--service"), "\(session)")
            }
        }
    }

    @Test func `Asks only for the client ID of a service in --service`() async throws {
        try await Container.run { container in
            let session = try await Terminal.run(
                Tool.account(in: container).command(["login", "--service", "github", "--device"]),
                .wait("https://github.com/settings/developers"), .wait("Client ID: "), .type("Iv1.0"), .enter,
                .wait("account login --service github --device --client-id Iv1.0"), .controlC)
            #expect(session.exitCode == 130, "\(session)")
            #expect(!container.exists(container.archive))
        }
    }

    @Test func `login exits with 64 if the input ends at a question`() async throws {
        try await Container.run { container in
            let session = try await Terminal.run(
                Tool.account(in: container).command(["login"]), .wait("another service: "), .controlD)
            #expect(session.exitCode == 64, "\(session)")
            #expect(session.screen.contains("nothing was entered"))
        }
    }

    @Test func `Offers a signed-in user the same account or a new session`() async throws {
        try await SignedInUser.run { user in
            let again = try await Terminal.run(
                user.account.command(["login"]), .wait("You are signed in as alice"),
                .wait("Enter a number (leave empty for 1): "), .enter, .find("your browser|enter this code"), .controlC)
            #expect(again.exitCode == 130, "\(again)")
            let session = try await Terminal.run(
                user.account.command(["login"]),
                [
                    .wait("You are signed in as alice"), .wait("Enter a number (leave empty for 1): "), .type("2"),
                    .enter,
                    .wait("Name of the new session, such as work: "), .type("default"), .enter,
                    .wait("A session named default already exists."), .wait("Name of the new session, such as work: "),
                    .type("work"), .enter, .wait("another service: "), .type(user.server.issuer), .enter,
                ]
                    + Self.signIn(as: "bob", ExampleServer.bobPassword))
            #expect(session.exitCode == 0, "\(session)")
            #expect(session.screen.contains("account login --session work \(user.server.issuer)"), "\(session)")
            #expect(try await user.account("whoami", "--offline").output == "alice\n")
            #expect(try await user.account("whoami", "--offline", "--session", "work").output == "bob\n")
        }
    }

    @Test func `Shows symbols and bold names only on a terminal with colors`() async throws {
        try await SignedInUser.run { user in
            func screen(_ variables: String...) async throws -> String {
                let command = user.account.command(["switch", "default"])
                let words = ["env"] + variables + command.words
                return try await Terminal.run(Command(words: words, environment: command.environment)).rawScreen
            }
            let plain = "The default session is now default, "
            let styled = "\u{1B}[32m✓\u{1B}[0m The default session is now \u{1B}[1mdefault\u{1B}[0m, "
            let colored = try await screen("TERM=xterm")
            #expect(colored.hasPrefix(styled), "\(colored)")
            let refused = try await screen("TERM=xterm", "NO_COLOR=1")
            #expect(refused.hasPrefix(plain), "\(refused)")
        }
    }
}
