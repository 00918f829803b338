@testable import EndToEndSupport
import Testing

/// Client secrets, at a service that is not one of the known services.
@Suite(.queued)
struct ClientSecretTests {
    private static let secret = "s3cret +&%:ü"

    static let methods = ["basic": "client_secret_basic", "post": "client_secret_post", "both": "client_secret_basic"]

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

    @Test(arguments: ["basic", "post", "both"])
    func `Sends the client secret by the discovered method at every endpoint`(method: String) async throws {
        try await run(["--client-secret", Self.secret, "--client-authentication", method]) { server, account, _ in
            let password = try await logIn(account, server)
            #expect(password.exitCode == 0, "\(password)")
            let issuer = ["--issuer", server.issuer]
            let device = try await account.logInOnDevice(at: server, issuer)
            #expect(device.exitCode == 0, "\(device)")
            let browser = try await account.logIn(at: server, issuer)
            #expect(browser.exitCode == 0, "\(browser)")
            #expect(try await account("refresh").exitCode == 0)
            let logout = try await account("logout", "--json")
            #expect(logout.output.contains(#""revocation":"done""#), "\(logout)")

            let requests = try await server.log().requests.filter {
                $0.method == "POST" && !["/device", "/oauth/authorize"].contains($0.path)
            }
            #expect(Set(requests.map(\.path)) == ["/oauth/token", "/oauth/device_authorization", "/oauth/revoke"])
            for request in requests { #expect(request.secret == Self.methods[method], "\(request)") }
        }
    }

    @Test(arguments: ["basic", "post"])
    func `Reports a wrong client secret and stores no session`(method: String) async throws {
        try await run(["--client-secret", Self.secret, "--client-authentication", method]) {
            server, account, container in
            let wrong = account.with("ACCOUNT_CLIENT_SECRET", "wrong")
            let refused = try await logIn(wrong, server)
            #expect(refused.exitCode == 78, "\(refused)")
            #expect(refused.errors.contains("invalid_client"), "\(refused)")
            #expect(!refused.errors.contains("wrong\n"))
            #expect(!container.exists(container.archive))

            #expect(try await logIn(account, server).exitCode == 0)
            #expect(try await account("refresh").exitCode == 0)
            #expect(try await account("whoami", "--verify").output == "alice\n")
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

    @Test func `Sends no client secret if the sign-in used no client secret`() async throws {
        try await Container.run { container in
            try await ExampleServer.run { server in
                let user = SignedInUser(server: server, container: container, account: try .account(in: container))
                try await user.signIn()
                try await user.signInWithToken(session: "token")
                let account = user.account.with("ACCOUNT_CLIENT_SECRET", Self.secret)
                // This service accepts every client authentication method.
                try await server.alter(
                    .discovery, setting: ["token_endpoint_auth_methods_supported": .list(["client_secret_basic"])])
                let refresh = try await account("refresh")
                #expect(refresh.exitCode == 0, "\(refresh)")
                for session in ["default", "token"] {
                    #expect(try await account("logout", "--session", session).exitCode == 0)
                }
                for request in try await server.log().requests { #expect(request.secret == nil, "\(request)") }
            }
        }
    }

    @Test func `Never writes the client secret to a file`() async throws {
        try await run(["--client-secret", Self.secret]) { server, account, container in
            #expect(try await logIn(account, server).exitCode == 0)
            for (path, entry) in try container.files() {
                #expect(!String(decoding: entry.bytes, as: UTF8.self).contains(Self.secret), "\(path)")
            }
        }
    }

    @Test func `Reports a service that accepts no client secret and sends no secret`() async throws {
        try await run([]) { server, account, _ in
            let login = try await logIn(account, server)
            #expect(login.exitCode == 78, "\(login)")
            #expect(login.errors.contains("does not accept a client secret"), "\(login)")
            for request in try await server.log().requests { #expect(request.secret == nil, "\(request)") }
        }
    }
}
