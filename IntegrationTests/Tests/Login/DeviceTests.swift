@testable import EndToEndSupport
import Testing

/// Signing in with a code that the user enters on another device.
@Suite(.queued)
struct DeviceTests {
    /// Runs `login --device` while alice is signed in, and calls `decide` with the code to act as the user on another
    /// device.
    private func run(
        _ decide: @escaping @Sendable (_ server: ExampleServer, _ code: String) async throws -> Void,
        _ test: (_ user: SignedInUser, _ outcome: Outcome) async throws -> Void
    ) async throws {
        try await SignedInUser.run(serverOptions: ["--device-interval", "1"]) { user in
            let login = user.account.command(["login", "--device"])
            let outcome = try await login.run { line in
                guard let code = line.firstMatch(of: /^ +([A-Z]{4}-[A-Z]{4})$/)?.output.1 else { return }
                try await decide(user.server, String(code))
            }
            try await test(user, outcome)
        }
    }

    @Test func `Polls at most once a second if the service's interval is zero`() async throws {
        try await Container.run { container in
            try await ExampleServer.run(["--device-interval", "0", "--device-code-lifetime", "3"]) { server in
                let login = try await Tool.account(in: container)("login", "--device", "--issuer", server.issuer)
                #expect(login.exitCode == 77, "\(login)")
                // On a busy machine, the code may expire before the first poll.
                #expect(try await server.log()["/oauth/token"] <= 4)
            }
        }
    }

    @Test func `Entering the code on another device signs the user in`() async throws {
        try await run { server, code in
            // A server error does not end the attempt while the code is still valid.
            try await server.setFaults(Fault(path: "/oauth/token", status: 503, times: 1))
            try await server.decide("approve", code, username: "bob", password: ExampleServer.bobPassword)
        } _: { user, outcome in
            #expect(outcome.exitCode == 0, "\(outcome)")
            #expect(outcome.output == "")
            #expect(outcome.errors.contains("    \(user.server.issuer)/device\n"))
            #expect(outcome.errors.hasSuffix("Signed in as bob at \(user.server.issuer).\n"))
            let name = try await user.account("whoami", "--verify")
            #expect(name.output == "bob\n")
            #expect(try await user.account("refresh").exitCode == 0)
        }
    }

    @Test func `Keeps the session if the user denies the request on another device`() async throws {
        try await run { server, code in
            try await server.decide("deny", code)
        } _: { user, outcome in
            #expect(outcome.exitCode == 77, "\(outcome)")
            #expect(outcome.errors.contains("access_denied"))
            let name = try await user.account("whoami", "--verify")
            #expect(name.output == "alice\n")
        }
    }

    @Test func `Reports an expired device code and keeps the session`() async throws {
        try await run { server, _ in
            let expired = #"{"error":"expired_token"}"#
            try await server.setFaults(Fault(path: "/oauth/token", status: 400, body: expired, times: 1))
        } _: { user, outcome in
            #expect(outcome.exitCode == 77, "\(outcome)")
            #expect(outcome.errors.contains("the code has expired"))
            let name = try await user.account("whoami", "--verify")
            #expect(name.output == "alice\n")
        }
    }

    @Test func `Ctrl-C while waiting for the device code keeps the session`() async throws {
        try await SignedInUser.run(serverOptions: ["--device-interval", "1"]) { user in
            let before = try user.container.entry(user.container.archive)
            let exitCode = try await Interrupted.run(user.account.command(["login", "--device"])) {
                try await user.server.log()["/oauth/token"] >= 1
            }
            #expect(exitCode == 130)
            #expect(try user.container.entry(user.container.archive) == before)
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
        }
    }
}
