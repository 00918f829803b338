@testable import EndToEndSupport
import Testing

/// Signing in with a code that the user enters on another device. `DevicePollingTests` tests the pauses between requests,
/// and `CancelledTests` Ctrl-C.
@Suite(.queued)
struct DeviceTests {
    /// Runs `login --device`, and calls `decide` with the code to act as the user on another device.
    private func logIn(
        _ user: SignedInUser, _ decide: @escaping @Sendable (_ code: String) async throws -> Void
    ) async throws -> Outcome {
        try await user.account.command(["login", "--device"]).run { line in
            guard let code = line.firstMatch(of: /^ +([A-Z]{4}-[A-Z]{4})$/)?.output.1 else { return }
            try await decide(String(code))
        }
    }

    @Test func `Entering the code on another device signs the user in`() async throws {
        try await SignedInUser.run(serverOptions: ["--device-interval", "1"]) { user in
            let outcome = try await logIn(user) { code in
                // A server error does not end the attempt while the code is still valid.
                try await user.server.setFaults(Fault(path: "/oauth/token", status: 503, times: 1))
                try await user.server.decide("approve", code, username: "bob", password: ExampleServer.bobPassword)
            }
            #expect(outcome.exitCode == 0, "\(outcome)")
            #expect(outcome.output == "")
            #expect(outcome.errors.contains("    \(user.server.issuer)/device\n"))
            #expect(outcome.errors.hasSuffix("Signed in as bob at \(user.server.issuer).\n"))
            let name = try await user.account("whoami", "--verify")
            #expect(name.output == "bob\n")
            #expect(try await user.account("refresh").exitCode == 0)
        }
    }

    @Test func `Keeps the session if the user denies the request or the code expires`() async throws {
        try await SignedInUser.run(serverOptions: ["--device-interval", "1"]) { user in
            let denied = try await logIn(user) { try await user.server.decide("deny", $0) }
            #expect(denied.exitCode == 77, "\(denied)")
            #expect(denied.errors.contains("access_denied"))
            let expired = try await logIn(user) { _ in
                let body = #"{"error":"expired_token"}"#
                try await user.server.setFaults(Fault(path: "/oauth/token", status: 400, body: body, times: 1))
            }
            #expect(expired.exitCode == 77, "\(expired)")
            #expect(expired.errors.contains("the code has expired"))
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
        }
    }
}
