import AccountKit
import ArgumentParser
import Logging
import Testing

@testable import AccountCommands

@Suite struct LoginOptionsTests {
    private enum App: AccountApplication {
        static let identifier = "com.example.app"
        static let takesIssuer = true
        static let signInHelp = "Without --client-id it is called example."

        static func authority(
            for: AccountService, timeout: Duration, logger: Logger?
        ) throws(AccountError) -> any AccountAuthority {
            throw AccountError(.misconfigured, "not needed here")
        }
    }

    private func parse(_ arguments: String...) throws -> LoginCommand<App> {
        try LoginCommand<App>.parse(arguments)
    }

    @Test func `What a service wants beyond scopes can be said`() throws {
        let command = try parse(
            "--redirect-uri", "http://127.0.0.1:8400/callback", "--audience", "api", "--resource", "https://a.example",
            "--resource", "https://b.example", "--parameter", "prompt=login", "--parameter", "login_hint=a=b", "--paste")
        #expect(command.request.redirectURI == "http://127.0.0.1:8400/callback")
        #expect(command.request.audience == "api")
        #expect(command.request.resources == ["https://a.example", "https://b.example"])
        #expect(command.request.parameters.values == ["prompt": "login", "login_hint": "a=b"])
        #expect(command.paste)
        #expect(try parse("--web", "--paste").paste)
        #expect(try parse("--parameter", "ui_locales=").request.parameters.values == ["ui_locales": ""])
    }

    @Test(arguments: [
        "state", "STATE", "redirect_uri", "client_id", "client_secret", "scope", "code_challenge", "code_verifier", "nonce",
        "response_type", "grant_type", "request_uri",
    ])
    func `A parameter that the sign-in needs for itself cannot be set`(name: String) throws {
        let error = try #require(throws: (any Error).self) { try parse("--parameter", "\(name)=x") }
        #expect(LoginCommand<App>.exitCode(for: error).rawValue == 64)
        #expect(LoginCommand<App>.message(for: error).contains(name))
    }

    @Test(arguments: [["--parameter", "prompt"], ["--parameter", "=login"], ["--parameter", ""]])
    func `A parameter has a name and a value`(arguments: [String]) {
        #expect(throws: (any Error).self) { try LoginCommand<App>.parse(arguments) }
    }

    @Test(arguments: [
        ["--paste", "--device"], ["--paste", "--password"], ["--paste", "--with-token"], ["--paste", "--username", "alice"],
        ["--redirect-uri", "http://127.0.0.1:1/", "--device"], ["--redirect-uri", "http://127.0.0.1:1/", "--with-token"],
    ])
    func `What is for a browser goes with no other way`(arguments: [String]) throws {
        let error = try #require(throws: (any Error).self) { try LoginCommand<App>.parse(arguments) }
        #expect(LoginCommand<App>.exitCode(for: error).rawValue == 64)
    }

    @Test func `The help has what the app has to say`() {
        #expect(LoginCommand<App>.helpMessage(columns: 80).contains("Without --client-id it is called example."))
    }
}
