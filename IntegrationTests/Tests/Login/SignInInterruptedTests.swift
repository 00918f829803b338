@testable import EndToEndSupport
import Subprocess
import Testing

/// A sign-in that a signal interrupts after the command has sent the code or the password. The command signs no user in
/// and revokes the tokens. `SignalGuardTests` has the table of signals, and `ExchangeTests` tests late responses.
@Suite(.queued)
struct SignInInterruptedTests {
    private enum Way: String, Sendable {
        case password
        case browser = "authorization_code"
        case device = "urn:ietf:params:oauth:grant-type:device_code"
    }

    private static let rows: [(Way, Signal)] = [
        (.password, .interrupt), (.browser, .terminate), (.device, .terminalClosed),
    ]

    /// Signs in as alice, and calls `meanwhile` while the response with her tokens is held.
    private func logIn(
        _ way: Way, _ server: ExampleServer, _ account: Tool,
        meanwhile: @escaping @Sendable (RunningCommand, Gate) async throws -> Void
    ) async throws -> Outcome {
        let gate = try await server.hold("/oauth/token", grantType: way.rawValue, ifStatus: 200)
        @Sendable func act(_ login: RunningCommand) async throws {
            try await gate.waitUntilHeld()
            try await meanwhile(login, gate)
        }
        let issuer = ["--issuer", server.issuer]
        switch way {
        case .password:
            let words = ["login", "--username", "alice", "--password-stdin"] + issuer
            return try await account.command(words).whileRunning(input: ExampleServer.alicePassword + "\n", act)
        case .browser: return try await account.logIn(at: server, issuer) { login, _ in try await act(login) }
        case .device: return try await account.logInOnDevice(at: server, issuer, meanwhile: act)
        }
    }

    private func run(_ test: (Container, ExampleServer, Tool) async throws -> Void) async throws {
        try await Container.run { container in
            let options = ExampleServer.eachTokenByItself + ["--device-interval", "1"]
            try await ExampleServer.run(options) { try await test(container, $0, try .account(in: container)) }
        }
    }

    @Test(arguments: rows)
    private func `A signal cancels a pending sign-in and revokes the new tokens`(row: (Way, Signal)) async throws {
        try await run { container, server, account in
            let outcome = try await logIn(row.0, server, account) { login, gate in
                try await login.send(row.1)
                try await gate.open()
            }
            #expect(outcome.wasEnded(by: row.1), "\(outcome)")
            #expect(!container.exists(container.archive))
            #expect(try await account("whoami").exitCode == 77)
            #expect(try await server.liveTokens(of: "alice") == [])
            #expect(try await server.log()["/oauth/revoke"] > 0)
        }
    }

    @Test func `Keeps the existing session if a sign-in is interrupted`() async throws {
        try await run { container, server, account in
            let bob = try await account(
                "login", "--issuer", server.issuer, "--username", "bob", "--password-stdin",
                input: ExampleServer.bobPassword + "\n")
            try #require(bob.exitCode == 0, "\(bob)")
            let before = try container.entry(container.archive)
            let outcome = try await logIn(.device, server, account) { login, gate in
                try await login.send(.interrupt)
                try await gate.open()
            }
            #expect(outcome.exitCode == 130, "\(outcome)")
            #expect(try container.entry(container.archive) == before)
            #expect(try await account("whoami", "--verify").output == "bob\n")
            #expect(try await server.liveTokens(of: "alice") == [])
        }
    }
}
