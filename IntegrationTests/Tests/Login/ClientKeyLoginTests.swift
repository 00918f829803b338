@testable import EndToEndSupport
import Foundation
import Testing

/// Sessions of a client that authenticates with a key (RFC 7523, section 2.2). `ClientKeyTests` tests the kinds of keys,
/// and `LoginOptionsTests` the contradictory options.
@Suite(.queued)
struct ClientKeyLoginTests {
    private static let token = "/oauth/token"

    private func run(
        _ test: (ExampleServer, Tool, Container, ClientKeyPair) async throws -> Void
    ) async throws {
        try await Container.run { container in
            let keys = try await ClientKeyPair(in: container)
            try await ExampleServer.run(["--client-public-key", keys.publicKey]) { server in
                try await test(server, Tool.account(in: container), container, keys)
            }
        }
    }

    private func logIn(
        _ account: Tool, _ server: ExampleServer, _ keys: ClientKeyPair, _ options: [String] = []
    ) async throws -> Outcome {
        try await account.run(
            ["login", "--client-credentials", "--issuer", server.issuer, "--client-id", "account-cli"]
                + ["--client-key", keys.privateKey] + options)
    }

    @Test func `Signs in, refreshes and signs out with a key, which it never stores`() async throws {
        try await run { server, account, container, keys in
            let login = try await logIn(account, server, keys)
            #expect(login.exitCode == 0, "\(login)")
            #expect(login.errors.contains("Signed in as the client account-cli at "), "\(login)")
            #expect(!login.errors.contains("ACCOUNT_CLIENT_SECRET"), "\(login)")

            let key = try String(contentsOfFile: keys.privateKey, encoding: .utf8)
            let line = try #require(key.split(separator: "\n").dropFirst().first)
            for (path, entry) in try container.files() where !keys.privateKey.hasSuffix(path) {
                #expect(!String(decoding: entry.bytes, as: UTF8.self).contains(line), "\(path)")
            }
            let verbose = try await account("-v", "refresh")
            #expect(!verbose.errors.contains(line) && !verbose.errors.contains("eyJ"), "\(verbose)")

            try await keys.rotate()
            let refresh = try await account("refresh")
            #expect(refresh.exitCode == 0, "the key was rotated on the disk: \(refresh)")
            #expect(try await account("whoami", "--verify").output == "account-cli\n")
            let status = try await account("status")
            #expect(status.output.contains(keys.privateKey), "\(status)")
            #expect(status.output.contains("commands request new tokens automatically"), "\(status)")
            let again = try await account("login")
            #expect(again.exitCode == 0, "the session remembers the key: \(again)")
            let logout = try await account("logout", "--json")
            #expect(logout.output.contains(#""revocation":"done""#), "\(logout)")
            let requests = try await server.log().requests.filter {
                $0.path == Self.token || $0.path == "/oauth/revoke"
            }
            #expect(requests.count >= 5)
            #expect(requests.allSatisfy { $0.secret == "private_key_jwt" && $0.status == 200 }, "\(requests)")
        }
    }

    @Test func `Keeps the session if the service rejects the assertion`() async throws {
        try await run { server, account, container, keys in
            let login = try await logIn(
                account, server, keys, ["--client-assertion-audience", "https://other.example"])
            #expect(login.exitCode == 78, "\(login)")
            #expect(login.errors.contains("audience"), "\(login)")
            #expect(!container.exists(container.archive))
            let right = try await logIn(
                account, server, keys, ["--client-assertion-audience", server.issuer + Self.token])
            #expect(right.exitCode == 0, "\(right)")

            // A clock that is 10 minutes behind makes the assertion stale.
            try await server.setClock(ahead: 600)
            let stale = try await account("refresh")
            #expect(stale.exitCode == 78, "\(stale)")
            #expect(stale.errors.contains("still signed in"), "\(stale)")
            #expect(stale.errors.contains("public key of \(keys.privateKey)"), "\(stale)")
            try await server.setClock(ahead: 0)
            #expect(try await account("refresh").exitCode == 0)
        }
    }

    @Test func `Names the problem of the key file and keeps the session`() async throws {
        try await run { server, account, _, keys in
            let login = try await logIn(account, server, keys)
            try #require(login.exitCode == 0, "\(login)")
            try await server.clearLog()
            let files = FileManager.default
            for permissions in [0o604, 0o640] {
                try files.setAttributes([.posixPermissions: permissions], ofItemAtPath: keys.privateKey)
                let open = try await account("refresh")
                #expect(open.exitCode == 78, "\(open)")
                #expect(open.errors.contains("chmod 600 \(keys.privateKey)"), "\(open)")
            }
            #expect(try await account("doctor").output.contains("chmod 600 \(keys.privateKey)"))
            try files.removeItem(atPath: keys.privateKey)
            let missing = try await account("refresh")
            #expect(missing.exitCode == 78, "\(missing)")
            #expect(missing.errors.contains(keys.privateKey), "\(missing)")
            #expect(try await account("whoami", "--offline").output == "account-cli\n")
            #expect(try await server.log()[Self.token] == 0)
            #expect(try await account("token").exitCode == 0, "the stored token is still valid")
        }
    }

    @Test func `Refuses a key without --client-credentials`() async throws {
        try await Container.run { container in
            let login = try await Tool.account(in: container)(
                "login", "--issuer", "https://auth.example.com", "--client-id", "nightly", "--client-key", "key.pem")
            #expect(login.exitCode == 64, "\(login)")
            #expect(login.errors.contains("--client-"), "\(login)")
        }
    }
}
