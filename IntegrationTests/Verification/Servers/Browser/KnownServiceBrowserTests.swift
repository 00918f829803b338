@testable import EndToEndSupport
import Testing

/// Known services, each simulated by the example server with that service's quirks, in a real browser.
@Suite(.queued)
struct KnownServiceBrowserTests {
    @Test(arguments: [SimulatedService.gitlab, .google, .microsoft])
    func `Signs in with the browser and gets a refresh token`(row: SimulatedService) async throws {
        try await row.run { server, container, account in
            try await Browser.run(in: container) { browser in
                let login = try await account.logIn(
                    with: browser, following: ExampleServer.signInSteps(), row.arguments(server))
                #expect(login.outcome.exitCode == 0, "\(login.outcome)")
                #expect(login.page.heading == "You are signed in")
                #expect(try await account("refresh").exitCode == 0)
                #expect(try await account("whoami", "--verify").output == "alice\n")
            }
        }
    }
}
