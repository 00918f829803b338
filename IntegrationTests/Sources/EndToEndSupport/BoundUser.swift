import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import Testing

/// alice, signed in with tokens that are bound to a key, with a separate server and container.
struct BoundUser: Sendable {
    let server: ExampleServer
    let container: Container
    let account: Tool

    var userInfo: String { server.issuer + "/oauth/userinfo" }

    /// Runs a test with alice signed in.
    ///
    /// - Parameters:
    ///   - policy: The value of the server's option `--dpop`.
    ///   - options: Further options of the server.
    static func run<Result: Sendable>(
        _ policy: String = "nonces", _ options: [String] = [], _ test: (BoundUser) async throws -> Result
    ) async throws -> Result {
        try await Container.run { container in
            try await ExampleServer.run(["--dpop", policy] + options) { server in
                let user = BoundUser(server: server, container: container, account: try .account(in: container))
                let login = try await user.signIn()
                try #require(login.exitCode == 0, "\(login)")
                try await server.clearLog()
                return try await test(user)
            }
        }
    }

    func signIn(_ options: String...) async throws -> Outcome {
        try await account.run(
            ["login", "--issuer", server.issuer, "--username", "alice", "--password-stdin", "--dpop"] + options,
            input: ExampleServer.alicePassword + "\n")
    }

    /// The header fields that `token --dpop-proof` prints.
    func fields(_ method: String, _ url: String, _ options: [String] = []) async throws -> [String: String] {
        let outcome = try await account.run(["token", "--dpop-proof", method, url] + options)
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
        let lines = outcome.output.split(separator: "\n").map {
            $0.split(separator: ": ", maxSplits: 1).map(String.init)
        }
        return [String: String](uniqueKeysWithValues: lines.map { ($0[0], $0[1]) })
    }
}

extension HTTP {
    /// The nonce that a server sends without a token.
    static func nonce(of url: String) async throws -> String? { try await send(.GET, url, fields: [:]).nonce }

    /// Sends a request with header fields. Returns the status, the nonce and the body of the response.
    static func send(
        _ method: HTTPMethod, _ url: String, fields: [String: String], form: String? = nil
    ) async throws -> (status: Int, nonce: String?, text: String) {
        var request = HTTPClientRequest(url: url)
        request.method = method
        request.headers.add(name: "Connection", value: "close")
        for (name, value) in fields { request.headers.add(name: name, value: value) }
        if let form {
            request.headers.add(name: "Content-Type", value: "application/x-www-form-urlencoded")
            request.body = .bytes(ByteBuffer(string: form))
        }
        let response = try await HTTPClient.shared.execute(request, timeout: .minutes(2))
        let text = String(buffer: try await response.body.collect(upTo: 1 << 20))
        return (Int(response.status.code), response.headers.first(name: "DPoP-Nonce"), text)
    }
}
