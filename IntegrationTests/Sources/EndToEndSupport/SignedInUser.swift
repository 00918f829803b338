import Foundation

/// alice, signed in with the `account` command, with a separate server and container.
struct SignedInUser: Sendable {
    let server: ExampleServer
    let container: Container
    let account: Tool

    /// Runs a test with alice signed in.
    ///
    /// - Parameters:
    ///   - serverOptions: Options of the server.
    ///   - byToken: Whether she signs in with an existing token, and therefore has no refresh token.
    static func run<Result: Sendable>(
        serverOptions: [String] = [], byToken: Bool = false, _ test: (SignedInUser) async throws -> Result
    ) async throws -> Result {
        try await Container.run { container in
            try await ExampleServer.run(serverOptions) { server in
                let user = SignedInUser(server: server, container: container, account: try .account(in: container))
                if byToken {
                    try await user.signInWithToken()
                } else {
                    try await user.signIn()
                }
                try await server.clearLog()
                return try await test(user)
            }
        }
    }

    /// Runs a test with alice signed in after her server has ended.
    static func runWithoutServer<Result: Sendable>(
        _ test: (_ account: Tool, _ container: Container, _ issuer: String) async throws -> Result
    ) async throws -> Result {
        try await Container.run { container in
            let account = try Tool.account(in: container)
            let issuer = try await ExampleServer.run { server in
                try await SignedInUser(server: server, container: container, account: account).signIn()
                return server.issuer
            }
            return try await test(account, container, issuer)
        }
    }

    func signIn(session: String = "default") async throws {
        let outcome = try await account(
            "login", "--issuer", server.issuer, "--username", "alice", "--password-stdin", "--session", session,
            input: ExampleServer.alicePassword + "\n")
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
    }

    /// Signs in with a token that was issued to another client.
    func signInWithToken() async throws {
        let token = try await server.issueToken()
        let outcome = try await account(
            "login", "--issuer", server.issuer, "--with-token", input: token + "\n")
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
    }
}

extension ExampleServer {
    private struct TokenResponse: Decodable {
        let accessToken: String

        enum CodingKeys: String, CodingKey { case accessToken = "access_token" }
    }

    /// An access token of alice or bob, from a sign-in without the command.
    func issueToken(username: String = "alice", password: String = alicePassword) async throws -> String {
        let form = [
            "grant_type=password", "client_id=account-cli", "username=\(username)",
            "password=\(password.replacing(" ", with: "+"))",
        ]
        let response = try await HTTP.postForm(issuer + "/oauth/token", form.joined(separator: "&"))
        return try JSONDecoder().decode(TokenResponse.self, from: Data(response.text.utf8)).accessToken
    }

    /// Whether an access token is valid.
    func accepts(_ token: String) async throws -> Bool {
        try await HTTP.get(issuer + "/oauth/userinfo", bearer: token).status == 200
    }
}
