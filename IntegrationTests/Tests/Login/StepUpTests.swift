@testable import EndToEndSupport
import Testing

/// Signing in again for further scopes or a stronger authentication.
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
            try await user.signIn()
            let login = try await stepUp(user, "--scope", "groups")
            #expect(login.exitCode == 0, "\(login)")
            let scopes = try await user.server.log().requests.last { $0.path == "/oauth/device_authorization" }?.scope
            #expect(Set(scopes?.split(separator: " ") ?? []) == ["notes:read", "groups", "offline_access"])
        }
    }

    @Test func `Keeps the local ID of a user whom the service does not identify`() async throws {
        try await APIUser.run(["--api-scope", "notes:read"]) { user in
            func id() async throws -> Substring? {
                try await user.account("whoami", "--offline", "--json").output.firstMatch(of: /local:[-0-9A-F]+/)?
                    .output
            }
            try await user.signIn()
            let old = try #require(try await id())
            let login = try await stepUp(user, "--scope", "groups")
            #expect(login.exitCode == 0 && !login.errors.contains("replaces"), "\(login)")
            #expect(try await id() == old)
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

    @Test func `Remembers requested scopes, and not granted ones`() async throws {
        try await Container.run { container in
            try await ExampleServer.run(["--device-interval", "1"]) { server in
                let account = try Tool.account(in: container)
                func logIn(_ arguments: String...) async throws -> Set<Substring> {
                    let login = try await account.logInOnDevice(at: server, arguments)
                    try #require(login.exitCode == 0, "\(login)")
                    let requests = try await server.log().requests
                    let last = requests.last { $0.path == "/oauth/device_authorization" }
                    return Set(last?.scope?.split(separator: " ") ?? [])
                }
                try await server.alter(.token, setting: ["scope": .text("openid phone")])
                _ = try await logIn("--issuer", server.issuer, "--scope", "openid", "--no-default-scopes")
                #expect(
                    try await logIn("--step-up", "--scope", "email", "--no-default-scopes") == [
                        "openid", "phone", "email",
                    ])
                #expect(try await logIn() == ["openid", "email"])
            }
        }
    }

    @Test func `Keeps the old tokens if the user refuses`() async throws {
        let options = ["--api-scope", "notes:read", "--api-scope", "notes:write", "--challenged-scope", "notes:read"]
        try await APIUser.run(options) { user in
            try await user.signIn()
            let old = try await user.account.storedToken()
            let login = try await user.account.logInOnDevice(at: user.server, ["--step-up"], decision: "deny")
            #expect(login.exitCode == 77, "\(login)")
            #expect(try await user.account.storedToken() == old)
            #expect(try await user.account("refresh").exitCode == 0)
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

    @Test func `An error for missing scopes names the exact command`() async throws {
        let options = ["--api-scope", "notes:read", "--api-scope", "notes:write", "--challenged-scope", "notes:read"]
        try await APIUser.run(options) { user in
            try await user.signIn("--session", "work")
            let outcome = try await user.account("mcp", user.api, input: MCPMessage.initialize + "\n")
            #expect(
                outcome.output.contains(
                    "`account login --session work --step-up --scope=notes:read --scope=notes:write`"), "\(outcome)")
            let login = try await stepUp(
                user, "--session", "work", "--scope", "notes:read", "--scope", "notes:write")
            #expect(login.exitCode == 0, "\(login)")
            #expect(try await user.call(session: "work") == 200)
        }
    }

    @Test func `Refuses to step up without a reason`() async throws {
        try await APIUser.run { user in
            try await user.signIn()
            let login = try await user.account("login", "--device", "--step-up")
            #expect(login.exitCode == 64, "\(login)")
            #expect(login.errors.contains("--scope"), "\(login)")
            let same = try await user.account("login", "--device", "--step-up", "--scope", "openid")
            #expect(same.exitCode == 77, "\(same)")
        }
    }

    @Test func `Refuses to step up without a session`() async throws {
        try await APIUser.run { user in
            let login = try await user.account("login", "--device", "--step-up", user.api)
            #expect(login.exitCode == 77, "\(login)")
        }
    }
}
