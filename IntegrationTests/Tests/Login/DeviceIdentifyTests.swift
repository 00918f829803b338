@testable import EndToEndSupport
import Testing

/// A device sign-in whose user info request fails after the service issued the tokens. `SignInExchangeTests` tests the
/// revocation of the tokens if the request never succeeds.
@Suite(.queued)
struct DeviceIdentifyTests {
    @Test func `Retries user info after a temporary failure, but not the device code`() async throws {
        try await Container.run { container in
            try await ExampleServer.run(["--device-interval", "1"]) { server in
                let account = try Tool.account(in: container)
                // Leaves user info as the only source of the user's identity.
                try await server.alter(.token, omitting: ["id_token"])
                try await server.setFaults(Fault(path: "/oauth/userinfo", status: 503, times: 2))
                let outcome = try await account.logInOnDevice(at: server, ["--issuer", server.issuer])
                #expect(outcome.exitCode == 0, "\(outcome)")
                #expect(outcome.errors.hasSuffix("Signed in as alice at \(server.issuer).\n"), "\(outcome)")
                // The requests that carried the device code.
                let polls = try await server.log().requests
                    .filter { $0.grantType == "urn:ietf:params:oauth:grant-type:device_code" }.map(\.status)
                #expect(polls.last == 200)
                #expect(polls.filter { $0 == 200 }.count == 1)
                #expect(try await server.liveTokens(of: "alice").count == 2)
                #expect(try await account("whoami", "--verify").output == "alice\n")
            }
        }
    }
}
