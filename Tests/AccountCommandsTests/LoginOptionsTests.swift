import AccountKit
import ArgumentParser
import Testing

@testable import AccountCommands

@Suite struct LoginOptionsTests {
    private enum App: AccountApplication {
        static let identifier = "com.example.app"
        static let acceptsIssuer = true
        static let signInHelp = "Without --client-id it is called example."
        static let services = [
            ServiceDescription(
                name: "hub", title: "Hub", issuer: "https://github.com", registrationPage: "https://github.com/apps")
        ]

        static func authority(with options: AuthorityOptions) throws(AccountError) -> any AccountAuthority {
            throw AccountError(.misconfigured, "not needed here")
        }
    }

    private enum Registered: AccountApplication {
        static let identifier = "com.example.registered"
        static let acceptsIssuer = true
        static var defaultClientID: String? { "registered" }

        static func authority(with options: AuthorityOptions) throws(AccountError) -> any AccountAuthority {
            throw AccountError(.misconfigured, "not needed here")
        }
    }

    @Test func `Requires a client ID only if the app has none`() {
        let required = LoginConversation<App>.registrationText(at: "https://a.example", enabling: "the password grant")
        #expect(required.contains("https://a.example requires a client ID.\n"))
        let offered = LoginConversation<Registered>.registrationText(
            at: "https://a.example", enabling: "the password grant")
        #expect(!offered.contains("requires") && offered.contains("enable the password grant"), "\(offered)")
    }

    private func parse(_ arguments: String...) throws -> LoginCommand<App> {
        try LoginCommand<App>.parse(arguments)
    }

    @Test(arguments: [
        (["--with-token"], "login --session work --with-token"),
        (["https://a.example/?a=1", "--with-token"], "login 'https://a.example/?a=1' --session work --with-token"),
        (["--service", "hub", "--with-token"], "login --session work --service hub --with-token"),
        (
            ["--issuer", "https://a.example", "--with-token"],
            "login --session work --issuer https://a.example --with-token"
        ),
    ])
    func `The advice for a token keeps the service`(words: [String], command: String) throws {
        let hint = CommandHint(tool: "account", session: try SessionName("work"))
        #expect(
            try LoginCommand<App>.parse(words).tokenAdvice(hint)
                == "use `account \(command) < FILE`, or pipe the token from your password manager")
    }

    @Test func `Refuses a URL that is not a web URL`() throws {
        let error = try #require(throws: (any Error).self) { try parse("ftp://example.com") }
        #expect(LoginCommand<App>.message(for: error) == "the argument is not a web URL\nuse https://example.com")
    }

    @Test func `Refuses an empty user name`() throws {
        let error = try #require(throws: (any Error).self) { try parse("--password-stdin", "--username", "") }
        #expect(LoginCommand<App>.message(for: error) == "the user name is empty")
        #expect(LoginCommand<App>.exitCode(for: error).rawValue == 64)
    }

    @Test func `The answers to the questions have options, with the URL first`() throws {
        var answers = LoginConversation<App>.Answers(url: "https://api.example.com/mcp")
        #expect(answers.options(withSession: true) == ["https://api.example.com/mcp"])
        answers.session = try SessionName("work")
        answers.issuer = "https://login.example.com"
        answers.clientID = "notes"
        answers.way = .device
        answers.server = "https://id.example.com"
        let options = ["--issuer", "https://login.example.com", "--client-id", "notes", "--device"]
        #expect(answers.options(withSession: false) == ["https://api.example.com/mcp"] + options)
        #expect(
            answers.options(withSession: true) == ["https://api.example.com/mcp", "--session", "work"] + options)
        answers.issuer = "https://api.example.com/mcp/"
        #expect(!answers.options(withSession: false).contains("--issuer"))
    }

    @Test func `Advises to enable the grant of the way that the user chose`() throws {
        var answers = LoginConversation<App>.Answers(url: "https://api.example.com")
        answers.choose(.device, isFirst: true)
        #expect(answers.options(withSession: false) == ["https://api.example.com"])
        #expect(LoginConversation<App>.grant(for: answers.expectedWay) == "the device authorization grant")
        answers.choose(.password, isFirst: false)
        #expect(answers.options(withSession: false) == ["https://api.example.com", "--password"])
        #expect(LoginConversation<App>.grant(for: answers.expectedWay) == "the password grant")
        #expect(try parse("--device").givenWay == .device)
        #expect(try parse("--username", "alice").givenWay == .password)
        #expect(try parse().givenWay == nil)
    }

    @Test func `Accepts all options of an authorization request`() throws {
        let command = try parse(
            "--redirect-uri", "http://127.0.0.1:8400/callback", "--audience", "api", "--resource", "https://a.example",
            "--resource", "https://b.example", "--parameter", "prompt=login", "--parameter", "login_hint=a=b", "--paste"
        )
        #expect(command.authorization.redirectURI == "http://127.0.0.1:8400/callback")
        #expect(command.request.audience == "api")
        #expect(command.request.resources == ["https://a.example", "https://b.example"])
        #expect(command.authorization.parameters.values == ["prompt": "login", "login_hint": "a=b"])
        #expect(command.ways.paste)
        #expect(try parse("--web", "--paste").ways.paste)
        #expect(try parse("--parameter", "ui_locales=").authorization.parameters.values == ["ui_locales": ""])
    }

    @Test func `One argument of --scope may contain several scopes`() throws {
        #expect(try parse("--scope", "a b", "--scope", "c").request.scopes == ["a", "b", "c"])
        #expect(throws: (any Error).self) { try parse("--scope", " ") }
    }

    @Test(arguments: [
        ("github.com", "use --service hub"), ("HUB", "use --service hub"), ("hbu", "use --service hub"),
        ("hub.example.com", "pass a URL, such as https://api.example.com, or --service NAME"),
    ])
    func `Suggests the service for an argument that is not a URL`(word: String, hint: String) throws {
        let error = try #require(throws: (any Error).self) { try parse(word) }
        #expect(LoginCommand<App>.message(for: error) == "the argument is not a URL\n\(hint)")
    }

    @Test func `login machine needs no option for a sign-in as a client`() throws {
        func machine(_ arguments: String...) throws -> MachineOptions<App> {
            try MachineLoginCommand<App>.parse(arguments).machine
        }
        #expect(try machine("https://auth.example.com").clientCredentials)
        #expect(try machine("--client-id", "nightly", "--client-key", "key.pem").clientCredentials)
        #expect(try !machine("--workload", "gitlab", "https://auth.example.com").clientCredentials)
        #expect(try !machine("--scope", "reports.read").isGiven, "the session is renewed as before")
    }

    @Test(arguments: ["--client-secret-stdin", "--client-key=key.pem", "--client-key-id=1"])
    func `Suggests login machine for an option of a client`(option: String) throws {
        let error = try #require(throws: (any Error).self) { try parse(option, "https://auth.example.com") }
        let name = option.prefix { $0 != "=" }
        #expect(
            LoginCommand<App>.message(for: error) == "\(name) is for a sign-in without a user\nuse `login machine`")
        let hint = LoginCommand<App>.secretHint(CommandHint(tool: "account", session: try SessionName("ci")))
        #expect(hint.contains("`account login machine --session ci` with --client-secret-stdin"))
    }

    @Test func `Suggests login machine if machine follows an option`() throws {
        let error = try #require(throws: (any Error).self) { try parse("--session", "ci", "machine") }
        #expect(
            LoginCommand<App>.message(for: error)
                == "the argument is not a URL\nwrite `login machine` before the options")
    }

    @Test(arguments: [
        ["--client-key", "key.pem", "--client-secret-stdin"], ["--client-key-id", "1"],
        ["--client-key", "key.pem", "--workload", "gitlab"], ["--workload-grant", "jwt-bearer"],
        ["--workload", "gitlab", "--client-auth", "post"], ["--device"], ["--default-scopes"], ["not-a-url"],
    ])
    func `login machine refuses contradictory options and options of a user`(options: [String]) throws {
        let error = try #require(throws: (any Error).self) { try MachineLoginCommand<App>.parse(options) }
        #expect(MachineLoginCommand<App>.exitCode(for: error).rawValue == 64)
    }

    @Test(arguments: [
        "http://127.0.0.1:8400/callback", "http://127.0.0.1/", "http://localhost:8400/a/b", "http://[::1]:1",
        "http://127.0.0.1",
    ])
    func `Accepts a loopback redirect URI`(uri: String) throws {
        #expect(try parse("--redirect-uri", uri).authorization.redirectURI == uri)
    }

    @Test(arguments: [
        "https://127.0.0.1:8400/callback", "http://example.com:8400/", "http://192.168.1.7/", "callback", "",
        "http://127.0.0.1:8400/callback#part", "http://127.0.0.1:8400/callback?x=1", "http://127.0.0.1.example.com/",
        "http://127.0.0.1:0/", "http://127.0.0.1:99999/", "http://127.0.0.1:x/", "http://127.0.0.1@example.com/",
        "http://localhost:/", "http://127.0.0.1:80 /",
    ])
    func `Rejects a redirect URI that is not on loopback or is malformed`(uri: String) throws {
        let error = try #require(throws: (any Error).self) { try parse("--redirect-uri", uri) }
        #expect(LoginCommand<App>.exitCode(for: error).rawValue == 64)
        #expect(LoginCommand<App>.message(for: error).contains("--redirect-uri"))
    }

    @Test(arguments: [["--parameter", "prompt"], ["--parameter", "=login"], ["--parameter", ""]])
    func `Refuses an authorization parameter without a name or a value`(arguments: [String]) {
        #expect(throws: (any Error).self) { try LoginCommand<App>.parse(arguments) }
    }

    @Test(arguments: [
        ["--paste", "--device"], ["--paste", "--password"], ["--paste", "--with-token"],
        ["--with-token", "--username", "alice"],
        ["--redirect-uri", "http://127.0.0.1:1/", "--device"],
        ["--redirect-uri", "http://127.0.0.1:1/", "--with-token"],
    ])
    func `Refuses browser options with other sign-in methods`(arguments: [String]) throws {
        let error = try #require(throws: (any Error).self) { try LoginCommand<App>.parse(arguments) }
        #expect(LoginCommand<App>.exitCode(for: error).rawValue == 64)
    }

    @Test(arguments: [
        ["--web"], ["--device"], ["--password"], ["--with-token"], ["--username", "alice"], ["--step-up"],
        ["--redirect-uri", "http://127.0.0.1:8400/callback"], ["--default-scopes"],
    ])
    func `Refuses options of a user with a sign-in without a user`(options: [String]) throws {
        for machine in [["--client-credentials"], ["--workload", "github-actions"]] {
            let error = try #require(throws: (any Error).self) { try LoginCommand<App>.parse(machine + options) }
            #expect(LoginCommand<App>.exitCode(for: error).rawValue == 64)
            #expect(LoginCommand<App>.message(for: error).contains(machine[0]))
        }
    }

    @Test(arguments: [
        ["--client-credentials", "--client-key", "key.pem", "--client-secret-stdin"], ["--client-key", "key.pem"],
        ["--client-credentials", "--client-key-id", "1"],
        ["--client-credentials", "--client-assertion-audience", "https://auth.example.com"],
        ["--client-credentials", "--workload", "github-actions"], ["--workload-grant", "jwt-bearer"],
        ["--workload", "github-actions", "--client-auth", "post"], ["--client-assertion-audience", "api"],
    ])
    func `Refuses contradictory options of a client or a workload`(options: [String]) throws {
        let error = try #require(throws: (any Error).self) { try LoginCommand<App>.parse(options) }
        #expect(LoginCommand<App>.exitCode(for: error).rawValue == 64)
        #expect(LoginCommand<App>.message(for: error).contains("--"))
    }
}
