@testable import EndToEndSupport
import Foundation
import Testing

/// Services that require an exact redirect URI, an audience, resources or further parameters, and a browser on another
/// machine. `LoginOptionsTests` has the tables of invalid options.
@Suite(.queued)
struct SignInOptionsTests {
    private func run(
        _ options: [String], _ test: (ExampleServer, Tool, Container) async throws -> Void
    ) async throws {
        try await Container.run { container in
            try await ExampleServer.run(options + ["--device-interval", "1"]) { server in
                try await test(server, try .account(in: container), container)
            }
        }
    }

    private func query(_ address: String) -> [String: [String]] {
        // The query is form-encoded, so a plus sign represents a space.
        let items = URLComponents(string: address.replacing("+", with: "%20"))?.queryItems ?? []
        return Dictionary(grouping: items, by: \.name).mapValues { $0.map { $0.value ?? "" } }
    }

    // MARK: The address for the browser

    @Test func `Uses the redirect URI and parameters as given, and remembers them`() async throws {
        let uri = "http://127.0.0.1:\(try FreePort.find())/signed/in"
        try await run(["--redirect-uri", uri]) { server, account, _ in
            let words = [
                "--issuer", server.issuer, "--redirect-uri", uri, "--parameter", "prompt=consent", "--parameter",
                "login_hint=a=b c@example.org",
            ]
            for arguments in [words, []] {
                let login = try await account.logIn(at: server, arguments) { _, address in
                    #expect(query(address)["redirect_uri"] == [uri])
                    #expect(query(address)["prompt"] == ["consent"])
                    #expect(query(address)["login_hint"] == ["a=b c@example.org"])
                }
                #expect(login.exitCode == 0, "\(login)")
                #expect(try await account("whoami", "--verify").output == "alice\n")
            }
        }
    }

    @Test func `Reports a port in use before it opens a browser`() async throws {
        try await run([]) { server, account, container in
            let taken = "http://127.0.0.1:\(server.port)/callback"
            let login = try await account.with("BROWSER", "true")(
                "login", "--web", "--issuer", server.issuer, "--redirect-uri", taken)
            #expect(login.exitCode != 0, "\(login)")
            #expect(login.errors.contains(String(server.port)), "\(login)")
            #expect(try await server.log()["/oauth/token"] == 0)
            #expect(!container.exists(container.archive))
        }
    }

    // MARK: Audience and resources

    @Test func `login sends the audience with every method and remembers it`() async throws {
        try await run(["--audience", "https://api.example/"]) { server, account, _ in
            let words = ["--issuer", server.issuer, "--audience", "https://api.example/"]
            let browser = try await account.logIn(at: server, words)
            #expect(browser.exitCode == 0, "\(browser)")
            #expect(try await server.liveTokens(of: "alice").last?.audience == "https://api.example/")
            let device = try await account.logInOnDevice(at: server)
            #expect(device.exitCode == 0, "\(device)")
            let refresh = try await account("refresh")
            #expect(refresh.exitCode == 0, "\(refresh)")
        }
    }

    @Test func `Every token request sends the resources, and login remembers them`() async throws {
        let resources = ["https://files.example/", "urn:example:mail"]
        let options = resources.flatMap { ["--resource", $0] }
        try await run(options) { server, account, _ in
            let words = ["--issuer", server.issuer] + options
            let browser = try await account.logIn(at: server, words)
            #expect(browser.exitCode == 0, "\(browser)")
            let refresh = try await account("refresh")
            #expect(refresh.exitCode == 0, "\(refresh)")
            let device = try await account.logInOnDevice(at: server)
            #expect(device.exitCode == 0, "\(device)")
            #expect(try await account("refresh").exitCode == 0)
            let requests = try await server.log().requests.filter {
                ["/oauth/token", "/oauth/device_authorization", "/oauth/authorize"].contains($0.path)
            }
            #expect(requests.count >= 6)
            for request in requests {
                #expect(request.resource == resources.joined(separator: " "), "\(request)")
            }
            for token in try await server.liveTokens(of: "alice") { #expect(token.resources == resources) }
        }
    }

    @Test(arguments: [["--redirect-uri", "callback"], ["--resource", "files"], ["--parameter", "state=x"]])
    func `Rejects an invalid value of an option`(option: [String]) async throws {
        try await Container.run { container in
            let words = ["login", "--web", "--issuer", "https://auth.example.com"] + option
            let login = try await Tool.account(in: container).run(words)
            #expect(login.exitCode == 64, "\(login)")
            #expect(login.errors.contains(option[0]), "\(login)")
        }
    }

    // MARK: A browser on another machine

    /// Runs `login` with `option` on a terminal, follows the URL that the command shows, and pastes the lines that
    /// `pasted` returns for the redirect.
    private func paste(
        _ option: String, _ account: Tool, _ server: ExampleServer, _ container: Container,
        _ pasted: @escaping @Sendable (_ redirection: String) -> [String]
    ) async throws -> Terminal.Session {
        let (shown, typed) = (container.path("shown"), container.path("typed"))
        async let session = Terminal.run(
            account.with("BROWSER", "true").command(["login", option, "--issuer", server.issuer]),
            columns: 200, .find(#"http\S+code_challenge\S+\s"#), .tell(shown), .typeFile(typed))
        try await waitUntil("the URL was shown") { container.exists(shown) }
        let screen = try String(contentsOfFile: shown, encoding: .utf8)
        guard let address = screen.firstMatch(of: /(http\S+code_challenge\S+)\s/) else { throw Unexpected(screen) }
        let redirection = try await server.redirection(from: String(address.1))
        let text = pasted(redirection).map { $0 + "\r" }.joined()
        try container.write(text.utf8, to: typed + ".new")
        try FileManager.default.moveItem(atPath: typed + ".new", toPath: typed)
        return try await session
    }

    @Test(arguments: ["--web", "--paste"])
    func `Rejects a pasted response to another sign-in and asks again`(option: String) async throws {
        try await run([]) { server, account, container in
            let session = try await paste(option, account, server, container) {
                ["nonsense", "http://127.0.0.1/callback?code=x&state=another", $0]
            }
            #expect(session.exitCode == 0, "\(session)")
            #expect(try await server.log().requests.filter { $0.grantType == "authorization_code" }.count == 1)
            #expect(try await account("whoami", "--verify").output == "alice\n")
        }
    }

    /// In canonical mode, the terminal would cut the line at 4,095 bytes.
    @Test(arguments: ["--web", "--paste"])
    func `Reads a pasted address of 20,000 bytes, and restores the terminal`(option: String) async throws {
        try await run([]) { server, account, container in
            let session = try await paste(option, account, server, container) { redirection in
                // The user clears a wrong line, and pastes with the marks of the terminal around the text.
                let padding = String(repeating: "x", count: 20_000)
                return ["wrong\u{15}\u{1B}[200~\(redirection)&padding=\(padding)y\u{7F}\u{1B}[201~"]
            }
            #expect(session.exitCode == 0, "\(session)")
            #expect(session.echo && session.isCanonical)
            #expect(try await account("whoami", "--verify").output == "alice\n")
        }
    }

    @Test(arguments: ["--web", "--paste"])
    func `Reads a pasted address that is quoted and broken into lines`(option: String) async throws {
        try await run([]) { server, account, container in
            let session = try await paste(option, account, server, container) { redirection in
                let middle = redirection.index(redirection.startIndex, offsetBy: redirection.count / 2)
                return ["\"\(redirection[..<middle])", "  \(redirection[middle...])\""]
            }
            #expect(session.exitCode == 0, "\(session)")
            #expect(try await account("whoami", "--verify").output == "alice\n")
        }
    }

    @Test(arguments: ["--web", "--paste"])
    func `Restores the terminal after a signal, and at the end of the input`(option: String) async throws {
        try await run([]) { server, account, container in
            let login = account.with("BROWSER", "true").command(["login", option, "--issuer", server.issuer])
            let ends: [[Terminal.Step]] = [[.controlC], [.signal(SIGTERM)], [.controlD, .signal(SIGHUP)]]
            for end in ends {
                let steps = [.find(#"http\S+code_challenge\S+\s"#), .silent] + (option == "--paste" ? [end[0]] : end)
                let session = try await Terminal.run(login, columns: 200, steps)
                #expect(session.exitCode != 0 && session.echo && session.isCanonical, "\(session)")
            }
            #expect(!container.exists(container.archive))
        }
    }

    @Test func `With --json, prints one line with the address for the browser`() async throws {
        struct Line: Decodable {
            struct Prompt: Decodable {
                let url: String
                let expiresIn: Int
            }
            let prompt: Prompt
        }
        try await run([]) { server, account, _ in
            let words = ["login", "--web", "--json", "--issuer", server.issuer]
            let login = try await account.with("BROWSER", "true").command(words).whileRunning { running in
                let line = try await running.output.match { text in text.split(separator: "\n").first.map(String.init) }
                let prompt = try JSONDecoder().decode(Line.self, from: Data(line.utf8)).prompt
                #expect(prompt.expiresIn > 0)
                _ = try? await HTTP.get(try await server.redirection(from: prompt.url))
            }
            #expect(login.exitCode == 0, "\(login)")
            #expect(login.output.split(separator: "\n").count == 2, "\(login)")
            #expect(!login.errors.contains("http"), "\(login)")
        }
    }
}
