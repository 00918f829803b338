@testable import EndToEndSupport
import Testing

/// Signing in again for further scopes or a stronger authentication. `AccessRequirementTests` tests what an API can require,
/// and `CommandHintTests` and `AccountServiceTests` the advice and the remembered scopes.
@Suite(.queued)
struct StepUpTests {
    private func stepUp(_ user: APIUser, _ arguments: String...) async throws -> Outcome {
        try await user.account.logInOnDevice(at: user.server, ["--step-up"] + arguments)
    }

    @Test func `Signs in again for the scopes that the API requires`() async throws {
        let options = ["--api-scope", "notes:read", "--api-scope", "notes:write", "--challenged-scope", "notes:read"]
        try await APIUser.run(options) { user in
            try await user.signIn()
            let old = try await user.account.storedToken()
            #expect(try await user.call() == 403)
            let refused = try await user.account.logInOnDevice(at: user.server, ["--step-up"], decision: "deny")
            #expect(refused.exitCode == 77, "\(refused)")
            #expect(try await user.account.storedToken() == old)
            let login = try await stepUp(user)
            #expect(login.exitCode == 0, "\(login)")
            #expect(try await user.call() == 200)
            #expect(try await user.account.storedToken() != old)
            let scopes = try await user.server.log().requests.last { $0.path == "/oauth/device_authorization" }?.scope
            #expect(Set(scopes?.split(separator: " ") ?? []) == ["notes:read", "notes:write", "offline_access"])
        }
    }

    @Test func `Signs in again for the scopes in the options`() async throws {
        try await APIUser.run(["--api-scope", "notes:read"]) { user in
            // The service does not identify the user, so AccountKit chooses an ID.
            func id() async throws -> Substring? {
                try await user.account("whoami", "--offline", "--json").output.firstMatch(of: /local:[-0-9A-F]+/)?
                    .output
            }
            try await user.signIn()
            let old = try #require(try await id())
            let login = try await stepUp(user, "--scope", "groups")
            #expect(login.exitCode == 0 && !login.errors.contains("replaces"), "\(login)")
            #expect(try await id() == old)
            let scopes = try await user.server.log().requests.last { $0.path == "/oauth/device_authorization" }?.scope
            #expect(Set(scopes?.split(separator: " ") ?? []) == ["notes:read", "groups", "offline_access"])
        }
    }

    @Test func `Asks again for scopes that the service did not grant`() async throws {
        try await APIUser.run(["--api-scope", "notes:read"]) { user in
            func requested() async throws -> Set<Substring> {
                let requests = try await user.server.log().requests
                return Set(
                    requests.last { $0.path == "/oauth/device_authorization" }?.scope?.split(separator: " ") ?? [])
            }
            try await user.server.alter(.token, setting: ["scope": .text("notes:read offline_access")])
            try await user.signIn("--scope", "groups")
            let first = try await stepUp(user, "--scope", "email")
            #expect(first.exitCode == 0, "\(first)")
            #expect(try await requested() == ["notes:read", "offline_access", "groups", "email"])
            let second = try await stepUp(user, "--scope", "profile")
            #expect(second.exitCode == 0, "\(second)")
            #expect(try await requested() == ["notes:read", "offline_access", "groups", "email", "profile"])
        }
    }

    @Test func `Requests the authentication class that the API requires`() async throws {
        try await APIUser.run(["--api-authentication-class", "mfa"]) { user in
            try await user.signIn()
            #expect(try await user.call() == 401)
            let login = try await user.account.logIn(at: user.server, ["--step-up"])
            #expect(login.exitCode == 0, "\(login)")
            #expect(try await user.call() == 200)
        }
    }

    @Test func `Refuses to step up without a session or a reason`() async throws {
        try await APIUser.run(["--api-scope", "mcp:basic"]) { user in
            let signedOut = try await user.account("login", "--device", "--step-up", user.api)
            #expect(signedOut.exitCode == 77, "\(signedOut)")
            try await user.signIn()
            let login = try await user.account("login", "--device", "--step-up")
            #expect(login.exitCode == 64, "\(login)")
            #expect(login.errors.contains("--scope"), "\(login)")
            // The API asks again for a scope that the session already has.
            let challenge = #"Bearer error="insufficient_scope", scope="mcp:basic""#
            try await user.server.setFaults(Fault(path: "/mcp", status: 403, headers: ["WWW-Authenticate": challenge]))
            try await user.server.clearLog()
            let same = try await user.account("login", "--device", "--step-up")
            #expect(same.exitCode == 77, "\(same)")
            #expect(same.errors.contains("has already granted"), "\(same)")
            #expect(try await user.server.log()["/oauth/device_authorization"] == 0)
        }
    }
}
