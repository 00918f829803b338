@testable import EndToEndSupport
import Testing

/// A device sign-in whose user info request fails after the service issued the tokens.
@Suite(.queued(minutes: 10))
struct DeviceIdentifyTests {
    private func run(
        lifetime: Int = 600, faults: [Fault], _ test: (Container, ExampleServer, Tool, Outcome) async throws -> Void
    ) async throws {
        try await Container.run { container in
            let options = [
                "--device-interval", "1", "--device-code-lifetime", String(lifetime), "--revocation-ends", "token",
            ]
            try await ExampleServer.run(options) { server in
                let account = try Tool.account(in: container)
                // Leaves user info as the only source of the user's identity.
                try await server.alter(.token, omitting: ["id_token"])
                try await server.setFaults(faults)
                let outcome = try await account.logInOnDevice(at: server, ["--issuer", server.issuer])
                try await server.clearFaults()
                try await test(container, server, account, outcome)
            }
        }
    }

    /// The statuses of the requests that carried the device code.
    private func polls(_ server: ExampleServer) async throws -> [Int?] {
        try await server.log().requests
            .filter { $0.grantType == "urn:ietf:params:oauth:grant-type:device_code" }.map(\.status)
    }

    @Test(arguments: [
        Fault(path: "/oauth/userinfo", status: 503, times: 2),
        Fault(path: "/oauth/userinfo", disconnect: .before, times: 2),
        Fault(path: "/oauth/userinfo", status: 200, headers: ["Content-Type": "text/html"], body: "<html>", times: 2),
    ])
    func `Retries user info after a temporary failure, but not the device code`(fault: Fault) async throws {
        try await run(faults: [fault]) { _, server, account, outcome async throws in
            #expect(outcome.exitCode == 0, "\(outcome)")
            #expect(outcome.errors.hasSuffix("Signed in as alice at \(server.issuer).\n"), "\(outcome)")
            #expect(try await polls(server).last == 200)
            #expect(try await polls(server).filter { $0 == 200 }.count == 1)
            #expect(try await server.liveTokens(of: "alice").count == 2)
            #expect(try await account("whoami", "--verify").output == "alice\n")
        }
    }

    @Test func `Revokes the tokens if user info fails until the device code expires`() async throws {
        // The sign-in must be approved within this time, even on a busy machine.
        try await run(lifetime: 20, faults: [Fault(path: "/oauth/userinfo", status: 503)]) {
            container, server, _, outcome async throws in
            #expect(outcome.exitCode == 69, "\(outcome)")
            #expect(!outcome.errors.contains("password"), "\(outcome)")
            #expect(outcome.errors.contains("503"), "\(outcome)")
            #expect(try await polls(server).last == 200)
            #expect(try await server.liveTokens(of: "alice") == [])
            #expect(!container.exists(container.archive))
        }
    }
}
