@testable import EndToEndSupport
import Testing

/// Client secrets, at a service that is not one of the known services. `ClientAuthenticationTests` tests which method
/// AccountKit chooses, and that a session uses only the secret of its sign-in.
@Suite(.queued)
struct ClientSecretTests {
    private static let secret = "s3cret +&%:ü"

    private func run(
        _ options: [String], _ test: (ExampleServer, Tool, Container) async throws -> Void
    ) async throws {
        try await Container.run { container in
            try await ExampleServer.run(options + ["--device-interval", "1"]) { server in
                let account = try Tool.account(in: container).with("ACCOUNT_CLIENT_SECRET", Self.secret)
                try await test(server, account, container)
            }
        }
    }

    private func logIn(_ account: Tool, _ server: ExampleServer) async throws -> Outcome {
        try await account(
            "login", "--issuer", server.issuer, "--username", "alice", "--password-stdin",
            input: ExampleServer.alicePassword + "\n")
    }

    @Test func `Sends the client secret by the discovered method at every endpoint`() async throws {
        try await run(["--client-secret", Self.secret, "--client-authentication", "post"]) {
            server, account, container in
            let refused = try await logIn(account.with("ACCOUNT_CLIENT_SECRET", "wrong"), server)
            #expect(refused.exitCode == 78, "\(refused)")
            #expect(refused.errors.contains("invalid_client"), "\(refused)")
            #expect(!refused.errors.contains("wrong\n"))
            #expect(!container.exists(container.archive))

            try await server.clearLog()
            let password = try await logIn(account, server)
            #expect(password.exitCode == 0, "\(password)")
            let issuer = ["--issuer", server.issuer]
            let device = try await account.logInOnDevice(at: server, issuer)
            #expect(device.exitCode == 0, "\(device)")
            let browser = try await account.logIn(at: server, issuer)
            #expect(browser.exitCode == 0, "\(browser)")
            #expect(try await account("refresh").exitCode == 0)
            for (path, entry) in try container.files() {
                #expect(!String(decoding: entry.bytes, as: UTF8.self).contains(Self.secret), "\(path)")
            }
            let logout = try await account("logout", "--json")
            #expect(logout.output.contains(#""revocation":"done""#), "\(logout)")

            let requests = try await server.log().requests.filter {
                $0.method == "POST" && !["/device", "/oauth/authorize"].contains($0.path)
            }
            #expect(Set(requests.map(\.path)) == ["/oauth/token", "/oauth/device_authorization", "/oauth/revoke"])
            for request in requests { #expect(request.secret == "client_secret_post", "\(request)") }
        }
    }

    @Test func `Sends each client secret only to its own service`() async throws {
        try await run(["--client-secret", Self.secret]) { server, account, _ in
            #expect(try await logIn(account, server).exitCode == 0)
            let options = ["--client-secret", "another", "--device-interval", "1"]
            try await ExampleServer.run(options) { other in
                let login = try await account.with("ACCOUNT_CLIENT_SECRET", "another")(
                    "login", "--session", "other", "--issuer", other.issuer, "--username", "alice", "--password-stdin",
                    input: ExampleServer.alicePassword + "\n")
                #expect(login.exitCode == 0, "\(login)")
                // A shell profile may still set the variable for the first service.
                for variable in [Self.secret, nil] {
                    for session in ["default", "other"] {
                        let refresh = try await account.with("ACCOUNT_CLIENT_SECRET", variable)(
                            "refresh", "--session", session)
                        #expect(refresh.exitCode == 0, "\(refresh)")
                    }
                }
                let logout = try await account("logout", "--session", "other", "--json")
                #expect(logout.output.contains(#""revocation":"done""#), "\(logout)")
                for server in [server, other] {
                    let statuses = try await server.log().requests.filter { $0.path == "/oauth/token" }.map(\.status)
                    #expect(statuses.allSatisfy { $0 == 200 })
                }
            }
        }
    }
}
