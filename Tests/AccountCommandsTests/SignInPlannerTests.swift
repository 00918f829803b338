import AccountKit
import ArgumentParser
import Testing

@testable import AccountCommands

/// The service that the options of a sign-in name.
@Suite struct SignInPlannerTests {
    private enum Forges: AccountApplication {
        static let identifier = "com.example.forges"
        static let acceptsIssuer = true
        static let services = [
            ServiceDescription(
                name: "hub", otherNames: ["thehub"], title: "Hub", issuer: "https://hub.example",
                registrationPage: "https://hub.example/apps"),
            ServiceDescription(
                name: "lab", title: "Lab", issuer: "https://HOST/lab", needsIssuer: true,
                registrationPage: "https://lab.example/apps"),
        ]

        static func authority(with options: AuthorityOptions) throws(AccountError) -> any AccountAuthority {
            throw AccountError(.misconfigured, "not needed here")
        }
    }

    private enum AnyService: AccountApplication {
        static let identifier = "com.example.any"
        static let acceptsIssuer = true

        static func authority(with options: AuthorityOptions) throws(AccountError) -> any AccountAuthority {
            throw AccountError(.misconfigured, "not needed here")
        }
    }

    private func service<App: AccountApplication>(of _: App.Type, _ arguments: String...) throws -> AccountService {
        let command = try LoginCommand<App>.parse(arguments)
        let context = try CommandContext<App>(.none, session: .default)
        return try SignInPlanner(command: command, context: context, answers: nil).service()
    }

    @Test(arguments: ["hub", "Hub", "thehub"])
    func `Names the issuer of a service in --service`(name: String) throws {
        let service = try service(of: Forges.self, "--service", name)
        #expect(service.issuer == "https://hub.example")
        #expect(service.name == "hub")
    }

    @Test func `Names the address of an instance instead of the issuer of its service`() throws {
        for name in ["hub", "lab"] {
            let service = try service(of: Forges.self, "--service", name, "https://git.example.com")
            #expect(service.issuer == "https://git.example.com")
            #expect(service.name == name)
        }
    }

    @Test func `Requires the address of a service that each customer has`() throws {
        let error = try #require(throws: AccountError.self) { try service(of: Forges.self, "--service", "lab") }
        #expect(error.code == .invalidArgument)
        #expect(error.hint == "pass this URL: https://HOST/lab")
    }

    @Test func `Refuses the name of a service that the app does not have`() throws {
        let error = try #require(throws: AccountError.self) { try service(of: Forges.self, "--service", "hbu") }
        #expect(error.code == .invalidArgument)
        #expect(error.message == "there is no known service 'hbu'")
        #expect(error.hint?.hasPrefix("did you mean 'hub'? The known services are hub, lab.") == true)
        let other = try #require(throws: AccountError.self) { try service(of: AnyService.self, "--service", "gitlab") }
        #expect(other.code == .invalidArgument)
        #expect(other.message == "this tool knows no service by its name")
    }

    @Test func `Suggests only a service that the app has`() throws {
        let error = try #require(throws: AccountError.self) { try service(of: Forges.self) }
        #expect(error.hint?.hasSuffix(", or --service hub") == true)
        let other = try #require(throws: AccountError.self) { try service(of: AnyService.self) }
        #expect(other.hint?.contains("--service") == false)
    }
}
